"""The command line: help, versions, and what it says when something is wrong."""

import re
import subprocess
import sys
import threading
import time
from _thread import interrupt_main

import pytest

import bitreplay
from bitreplay.cli import EXTRA, commands, main


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
    assert "Folder for the plot and the numbers. (type: Path | str, default: demo)" in printed
    assert "Thermometer bits per pixel. (type: int, default: 4)" in printed
    assert "<" not in printed  # no representation of a Python object


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("dmeo",), "error: unknown command 'dmeo' (choose from 'demo'); did you mean demo?\nsee: bitreplay --help\n"),
        (("demo", "--sede", "3"), "error: unknown option or value: --sede 3; did you mean --seed?\n"),
        (("demo", "--ouptut=here"), "error: unknown option or value: --ouptut=here; did you mean --output?\n"),
        (("demo", "3", "--protoypes", "3"), "did you mean --prototypes?\nsee: bitreplay demo --help\n"),
        (("demo", "--seed", "x"), "error: --seed: expected int, got x\nsee: bitreplay demo --help\n"),
        (("--config", "absent.yaml", "demo"), "error: --config: File does not exist"),
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
    [("bits", "20", "1 to 16"), ("prototypes", "0", "positive"), ("p", "0", "positive"), ("seed", "-1", "2^32")],
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


def test_ctrl_c_ends_with_a_short_message(capsys, tmp_path):
    folder = tmp_path / "demo"

    def interrupt_when_running():
        for _ in range(6000):
            if folder.exists():
                return interrupt_main()
            time.sleep(0.01)
        return None

    watcher = threading.Thread(target=interrupt_when_running)
    watcher.start()
    code = main(["demo", "--output", str(folder)])
    watcher.join()
    assert code == 130
    assert capsys.readouterr().err == "interrupted\n"
    assert not list(folder.iterdir())


def test_a_missing_extra_is_named_with_its_cure():
    program = (
        f"import sys; sys.modules.update(dict.fromkeys({EXTRA}))\nfrom bitreplay.cli import main; sys.exit(main())"
    )
    ended = subprocess.run([sys.executable, "-c", program, "demo"], capture_output=True, text=True, check=False)
    assert ended.returncode == 2
    assert ended.stderr == f"error: the command line needs {', '.join(EXTRA)}: pip install 'bitreplay[cli]'\n"
