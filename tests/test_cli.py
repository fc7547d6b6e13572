"""The command line: help, versions, and what it says when something is wrong."""

import inspect
import os
import re
import subprocess
import sys

import pytest

import bitreplay
from bitreplay._floor.container import read_file
from bitreplay.cli import EXTRA, main
from bitreplay.commands import COMMANDS
from bitreplay.evaluation import History
from bitreplay.learners import LEARNERS
from tests.runs.problems import SIZES, save_network

SIZE_OPTIONS = ["--sizes", *map(str, SIZES)]


def fails(capsys, *arguments):
    """Run a command line that must fail; returns what it wrote to stderr."""
    assert main(arguments) == 2
    printed = capsys.readouterr()
    assert printed.out == ""
    assert "Traceback" not in printed.err
    return printed.err


def shows(capsys, monkeypatch, *arguments):
    """Run a command line that only shows something; returns what it printed, as words without boxes."""
    monkeypatch.setenv("COLUMNS", "400")
    assert main(arguments) == 0
    return " ".join(word for word in capsys.readouterr().out.split() if word != "│")


def test_version(capsys, monkeypatch):
    assert shows(capsys, monkeypatch, "--version") == f"bitreplay {bitreplay.__version__}"


@pytest.mark.parametrize("arguments", [(), ("--help",)])
def test_help_lists_every_command_with_its_first_sentence(capsys, monkeypatch, arguments):
    printed = shows(capsys, monkeypatch, *arguments)
    assert list(COMMANDS) == [
        "demo",
        "learn",
        "predict",
        "forget",
        "merge",
        "show",
        "evaluate",
        "studio",
        "serve",
        "run",
        "compare",
        "reproduce",
        "train",
        "report",
        "export",
        "data",
        "cache",
    ]
    for name, command in COMMANDS.items():
        assert f"{name} {command.__doc__.splitlines()[0]}" in printed
    assert printed.index("demo") < printed.index("run") < printed.index("cache")  # not by the alphabet


@pytest.mark.parametrize("command", COMMANDS)
def test_help_is_written_for_people(capsys, monkeypatch, command):
    printed = shows(capsys, monkeypatch, command, "--help")
    assert printed.startswith(f"Usage: bitreplay {command}")
    for strange in ("<", "Union", "Optional", "None", "False", "object", "bitreplay.runs", "`", "STR|", "PATH|"):
        assert strange not in printed


@pytest.mark.parametrize(
    ("command", "shown"),
    [
        ("demo", "--output PATH Folder for the runs and the report. [default: demo]"),
        ("demo", "--p INT Thermometer bits per feature. [default: 1]"),
        ("demo", "The other five come one at a time."),  # the whole description, not only its first line
        ("run", "--config PATH Read options"),
        ("run", "--sizes INT... Classes of each task"),
        ("run", "--order INT... Class order"),
        ("run", "--train_accuracy Also measure"),
        ("run", "[choices: thermometer, heaviside, native, none, calibrated] [default: thermometer]"),
        ("run", "--training.epochs INT Epochs of the first phase"),
        ("train", "--training.augmentation CHOICE How training images are varied"),
        ("compare", "--learners STR... Names"),
        ("train", "--encoder STR"),
        ("report", "Usage: bitreplay report [OPTIONS] RUNS"),
        ("show", "Usage: bitreplay show [OPTIONS] MODEL"),
        ("learn", "--label STR The class of all these images"),
        ("predict", "--top INT How many classes to name"),
    ],
)
def test_help_explains_options_and_how_to_type_them(capsys, monkeypatch, command, shown):
    assert shown in shows(capsys, monkeypatch, command, "--help")


def test_help_names_every_learner_and_learners_explain_their_options(capsys, monkeypatch):
    printed = shows(capsys, monkeypatch, "run", "--help")
    for name, learner in LEARNERS.items():
        assert name in printed
        assert main(["run", "--learner.help", name]) == 0
        explained = capsys.readouterr().out
        for option, parameter in inspect.signature(learner).parameters.items():
            if option not in ("seed", "em"):
                assert re.search(rf"^  (\w+, )*{option}(, \w+)* : .*\(default: .*{parameter.default}", explained, re.M)
        assert "seed" not in explained
        assert "`" not in explained
    assert "did you mean GBM?" in fails(capsys, "run", "--learner.help", "GMB")


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (
            "dmeo",
            f"unknown command 'dmeo' (choose from {', '.join(COMMANDS)}); did you mean demo?\nsee: bitreplay --help",
        ),
        ("--verison", "unknown option '--verison'"),
        ("demo --sede 3", "unknown option: --sede; did you mean --seed?\nsee: bitreplay demo --help"),
        ("demo --ouptut=here", "unknown option: --ouptut; did you mean --output?"),
        ("demo 3 --protoypes 3", "unknown option: --protoypes; did you mean --prototypes?"),
        ("demo 3", "unknown value: 3"),
        ("demo --seed x", "--seed: expected an integer, got 'x'\nsee: bitreplay demo --help"),
        ("demo --seed 3 --seed 4", "--seed is given twice"),
        ("demo --config absent.yaml", '--config: "absent.yaml" does not exist.'),
        ("run --datset digits", "unknown option: --datset; did you mean --dataset?"),
        ("run --tasks x", "--tasks: expected an integer, got 'x'"),
        ("run --sizes 5 x", "--sizes: expected an integer, got 'x'"),
        ("run --order x", "--order: expected an integer, got 'x'"),
        ("train --training.image_sizes [8,", "--training.image_sizes: expected an integer, got '[8,'"),
        ("run --checkpoint_seconds x", "--checkpoint_seconds: expected a number, got 'x'"),
        ("run --train_accuracy=x", "--train_accuracy: expected true or false, got 'x'"),
        ("run --binarizer x", "--binarizer: expected one of thermometer, heaviside, native, none, calibrated, got 'x'"),
        ("run --training.epoch 3", "unknown option: --training.epoch; did you mean --training.epochs?"),
        ("run --training.epochs x", "--training.epochs: expected an integer, got 'x'"),
        ("cache claen", "--action: expected one of list, clean, got 'claen'; did you mean clean?"),
        ("report", "needed: RUNS\nsee: bitreplay report --help"),
        ("show", "needed: MODEL"),
        ("run --seed", "--seed needs a value"),
        ("compare --seeds", "--seeds needs a value"),
    ],
)
def test_a_wrong_word_is_named_with_the_nearest_right_one(capsys, arguments, said):
    error = fails(capsys, *arguments.split())
    assert error.startswith(f"error: {said}\n" if "\nsee" in said else f"error: {said}")
    assert error.count("\n") == 2


@pytest.mark.parametrize(
    ("content", "said"),
    [
        ("sed: 3", "unknown option: sed in FILE"),
        ("seed: x", "seed in FILE: expected an integer, got 'x'"),
        ("dataset: [1, 2]", "dataset in FILE: expected a word, got '[1, 2]'"),
        ("training: {epoch: 3}", "unknown option: training.epoch in FILE"),
        ("- seed", 'Configuration in "FILE" must be a mapping, but got list.'),
        ("seed: [", "while parsing a flow node expected the node content, but found '<stream end>' in \"FILE\""),
    ],
)
def test_a_wrong_configuration_is_named(capsys, tmp_path, content, said):
    file = tmp_path / "config.yaml"
    file.write_text(content)
    assert fails(capsys, "run", "--config", str(file)).startswith(f"error: {said.replace('FILE', str(file))}")


@pytest.mark.parametrize("arguments", [("xyzzy",), ("demo", "--xyzzy"), ("demo", "xyzzy")])
def test_nothing_is_suggested_where_nothing_is_near(capsys, arguments):
    assert "did you mean" not in fails(capsys, *arguments)


@pytest.mark.parametrize(
    ("option", "value", "said"),
    [("bits", "20", "1 to 16"), ("prototypes", "0", "at least 1"), ("p", "0", "at least 1"), ("seed", "-1", "from 0")],
)
def test_our_errors_are_one_line_and_leave_nothing_behind(capsys, tmp_path, option, value, said):
    error = fails(capsys, "demo", "--output", str(tmp_path / "demo"), f"--{option}", value)
    assert re.fullmatch(r"error: [^\n]+\n", error)
    assert said in error
    assert not list(tmp_path.iterdir())


def test_an_output_that_cannot_be_a_folder(capsys, tmp_path):
    file = tmp_path / "file"
    file.write_text("keep me")
    assert fails(capsys, "demo", "--output", str(file)) == f"error: output must be a folder; {file} is a file\n"
    assert fails(capsys, "demo", "--output", str(file / "demo")) == f"error: Not a directory: {file / 'demo'}\n"
    assert file.read_text() == "keep me"


def test_ctrl_c_ends_with_a_line_that_says_how_to_go_on(tmp_path):
    """A process as a terminal starts one."""
    network = save_network(tmp_path / "network")
    environment = {**os.environ, "BITREPLAY_CACHE": str(tmp_path / "cache"), "OMP_NUM_THREADS": "1"}
    options = ["--dataset", "digits", "--encoder", str(network), "--output", str(tmp_path / "runs"), *SIZE_OPTIONS]
    options += ["--learner", "GBM", "--checkpoint_seconds", "0"]
    # It interrupts itself as soon as there is a checkpoint, so that nobody has to guess when that is.
    program = (
        "import os, signal, sys\n"
        "signal.signal(signal.SIGINT, signal.default_int_handler)\n"  # some shells ignore it
        "from bitreplay.runs import _run\n"
        "from bitreplay.cli import main\n"
        "write = _run._write_checkpoint\n"
        "def write_and_interrupt(*arguments):\n"
        "    write(*arguments)\n"
        "    os.kill(os.getpid(), signal.SIGINT)\n"
        "_run._write_checkpoint = write_and_interrupt\n"
        "sys.exit(main())"
    )
    process = subprocess.run(
        [sys.executable, "-c", program, "run", *options], env=environment, capture_output=True, text=True, check=False
    )
    said = process.stderr.removeprefix("compiling kernels, once per installation\n")  # whichever test comes first
    assert (process.returncode, said) == (130, "interrupted; repeat the command to resume\n")
    (folder,) = (tmp_path / "runs").iterdir()
    content, _ = read_file(folder / "checkpoint.safetensors")
    assert History.from_json(content["history"]).n_states >= 1
    assert not (folder / "history.json").exists()


def test_ctrl_c_in_a_command_that_has_nothing_to_go_on_with(capsys, monkeypatch):
    def interrupted(*arguments, **options):
        raise KeyboardInterrupt

    monkeypatch.setattr("bitreplay.commands._data.available", interrupted)
    assert main(["data"]) == 130
    assert capsys.readouterr().err == "interrupted\n"


def test_a_missing_extra_is_named_with_its_cure():
    program = (
        f"import sys; sys.modules.update(dict.fromkeys({EXTRA}))\nfrom bitreplay.cli import main; sys.exit(main())"
    )
    ended = subprocess.run([sys.executable, "-c", program, "demo"], capture_output=True, text=True, check=False)
    assert ended.returncode == 2
    assert ended.stderr == f"error: the command line needs {', '.join(EXTRA)}: pip install 'bitreplay[cli]'\n"
