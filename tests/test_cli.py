"""The command line: help, versions, and what it says when something is wrong."""

import inspect
import os
import re
import subprocess
import sys

import pytest

import bitreplay
from bitreplay._floor.container import read_file
from bitreplay.cli import EXTRA, commands, main
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


def exits(capsys, *arguments):
    """Run a command line that must end well before any command runs; returns what it printed."""
    with pytest.raises(SystemExit) as end:
        main(arguments)
    assert end.value.code == 0
    return " ".join(capsys.readouterr().out.split())


def test_version(capsys):
    assert exits(capsys, "--version") == f"bitreplay {bitreplay.__version__}"


@pytest.mark.parametrize("arguments", [(), ("--help",)])
def test_help_lists_every_command_with_its_first_sentence(capsys, arguments):
    printed = exits(capsys, *arguments)
    for name, command in commands().items():
        summary = command.__doc__.splitlines()[0]
        assert f"{name} {summary}" in printed


def test_help_of_a_command_explains_every_option(capsys):
    printed = exits(capsys, "demo", "--help")
    assert "--output OUTPUT Folder for the runs and the report. (default: demo)" in printed
    assert "--p P Thermometer bits per feature. (default: 1)" in printed
    assert "The other five come one at a time." in printed  # the whole description, not only its first line


@pytest.mark.parametrize("command", commands())
def test_help_is_written_for_people(capsys, command):
    printed = exits(capsys, command, "--help")
    assert printed.startswith(f"usage: bitreplay {command} ")
    for strange in ("<", "Union", "Optional", "null,", "None", "ITEM", "type:", "subclass", "bitreplay.", "+", "`"):
        assert strange not in printed.replace("bitreplay.errors", "")
    options = re.findall(r"--([a-z_]+)", printed)
    assert options[0] == "help"


@pytest.mark.parametrize(
    ("command", "shown"),
    [
        ("run", "--sizes SIZES ... Classes of each task"),
        ("run", "--train_accuracy Also measure"),
        ("run", "--binarizer {thermometer,heaviside,native,none} What"),
        ("compare", "--learners LEARNERS ... Names"),
        ("train", "--encoder ENCODER"),
        ("report", "usage: bitreplay report RUNS ... [options]"),
        ("memory", "usage: bitreplay memory FILE [options]"),
    ],
)
def test_help_shows_how_to_type_it(capsys, command, shown):
    assert shown in exits(capsys, command, "--help")


def test_help_names_every_learner_and_learners_explain_their_options(capsys):
    printed = exits(capsys, "run", "--help")
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


CHOICES = ", ".join(repr(name) for name in commands())


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (
            ("dmeo",),
            f"error: unknown command 'dmeo' (choose from {CHOICES}); did you mean demo?\nsee: bitreplay --help\n",
        ),
        (("demo", "--sede", "3"), "error: unknown option or value: --sede 3; did you mean --seed?\n"),
        (("demo", "--ouptut=here"), "error: unknown option or value: --ouptut=here; did you mean --output?\n"),
        (("demo", "3", "--protoypes", "3"), "did you mean --prototypes?\nsee: bitreplay demo --help\n"),
        (("demo", "--seed", "x"), "error: --seed: expected int, got x\nsee: bitreplay demo --help\n"),
        (("demo", "--config", "absent.yaml"), "error: --config: File does not exist"),
        (("run", "--datset", "digits"), "unknown option or value: --datset digits; did you mean --dataset?\n"),
        (("run", "--tasks", "x"), "error: --tasks: expected int, got x\n"),
        (("run", "--sizes", "5", "x"), "error: --sizes: expected int, got x\n"),
        (("run", "--order", "x"), "error: --order: expected int, got x\n"),
        (
            ("run", "--binarizer", "x"),
            "error: --binarizer: expected one of 'thermometer', 'heaviside', 'native', 'none', got x\n",
        ),
        (("cache", "claen"), "error: --action: expected one of 'list', 'clean', got claen\n"),
        (("report",), "error: needed: runs\nsee: bitreplay report --help\n"),
        (("memory",), "error: needed: file\n"),
        (("run", "--seed"), "error: argument --seed: expected one argument\n"),
    ],
)
def test_a_wrong_word_is_named_with_the_nearest_right_one(capsys, arguments, said):
    error = fails(capsys, *arguments)
    assert said in error
    assert error.count("\n") == 2


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
    assert (process.returncode, process.stderr) == (130, "interrupted; the same command goes on from here\n")
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
