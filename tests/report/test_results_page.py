"""The project's page of results: it reads the files of this version and of the first one."""

import importlib.util
import json
from dataclasses import asdict, replace
from pathlib import Path

import pytest

from bitreplay.evaluation import Provenance, RunResult
from bitreplay.experiments import Outcome, Request, read_outcome, write_outcome
from bitreplay.experiments._difference import Difference
from bitreplay.experiments._main_table import NOT_RUN
from bitreplay.experiments._methods_table import methods_table
from bitreplay.experiments._page import VERDICTS
from bitreplay.experiments._stopped import STOPPED
from bitreplay.report import write_summary
from tests.experiments.histories import method
from tests.experiments.outcomes import an_experiment, outcome
from tests.report.examples import comparison
from tests.report.test_summary import made_by

ROOT = Path(__file__).parents[2]
THERMOMETER = "cifar100, 50 classes, resnet18, thermometer, p = 1"
SCRIPT = ROOT / "benchmarks" / "results_page.py"

pytestmark = pytest.mark.skipif(not SCRIPT.exists(), reason="the benchmarks are not part of what is installed")


@pytest.fixture
def script(tmp_path, monkeypatch):
    """The script, which reads and writes in a folder of its own."""
    monkeypatch.syspath_prepend(SCRIPT.parent)
    specification = importlib.util.spec_from_file_location("results_page", SCRIPT)
    module = importlib.util.module_from_spec(specification)
    specification.loader.exec_module(module)
    folders = {"ROOT": "", "COMPARISONS": "comparisons", "EXPERIMENT_FILES": "experiments", "PAGE": "results.md"}
    folders["FIGURE"] = "results.svg"
    for name, path in {**folders, "PUBLISHED": "README.md", "MAIN_TABLE": "comparisons/table-1-cpu.json"}.items():
        monkeypatch.setattr(module, name, tmp_path / path)
    return module


def write_results(folder: Path, version: str) -> None:
    """A comparison and an experiment, as this version or 0.1.0 wrote them."""
    made = Provenance(version, "2025-03-01", "a machine", 100.0)
    runs = [made_by(run, made.version, made.date, made.machine, made.seconds) for run in comparison((0, 1))]
    compared, measured = folder / "comparisons" / "c.json", folder / "experiments" / "table-2.json"
    write_summary(runs, compared, {"dataset": "digits"}, ["compare", "--dataset", "digits"])
    request = Request("cpu", folder)
    one = write_outcome(folder / "table-2", "table-2", an_experiment(), outcome(drawings=[]), request, 1.0)
    content = json.loads((one.folder / "outcome.json").read_text(encoding="utf-8"))
    content |= {"version": made.version, "date": made.date, "machine": made.machine}
    if version == "0.1.0":
        old = json.loads(compared.read_text(encoding="utf-8"))
        said = old.pop("made")
        old |= {"bitreplay": said["version"], "date": said["date"], "machine": said["machine"]}
        compared.write_text(json.dumps(old), encoding="utf-8")
        content["claims"] = [
            {"paper": claim.paper, "measured": claim.measured, "holds": claim.holds} for claim in one.claims
        ]
    measured.parent.mkdir()
    measured.write_text(json.dumps(content), encoding="utf-8")


@pytest.mark.parametrize("version", ["0.1.0", "0.2.0"])
def test_files_of_both_versions_are_read(script, tmp_path, version):
    write_results(tmp_path, version)
    script.main()
    page = (tmp_path / "results.md").read_text(encoding="utf-8")
    assert f"Seeds 0, 1; a machine; bitreplay {version}; 2025-03-01." in page
    assert f"\na machine; bitreplay {version}; 2025-03-01." in page
    for paper, verdict in zip(("K = 8 > K = 1", "q = 8 is best", "T = 20 is harder"), VERDICTS.values(), strict=True):
        [told] = [line for line in page.splitlines() if line.startswith("| [table-2]") and f"| {paper} |" in line]
        old = version == "0.1.0"
        assert told.endswith(f"| {verdict}{' (being remeasured)' if old else ''} |")
    assert ("claims were judged more leniently" in page) == old


def test_the_committed_results_are_read(script):
    paths = sorted((ROOT / "results" / "comparisons").glob("*.json"))
    assert paths
    for path in paths:
        content = json.loads(path.read_text(encoding="utf-8"))
        made = content.get("made", content)
        assert f"{made['machine']}; bitreplay " in script.section(content)
        assert f"; {made['date']}." in script.section(content)
    paths = sorted((ROOT / "results" / "experiments").glob("*.json"))
    assert paths
    for path in paths:
        one = read_outcome(path)
        claims = json.loads(path.read_text(encoding="utf-8"))["claims"]
        for claim, written in zip(one.claims, claims, strict=True):
            assert (claim.paper, claim.measured) == (written["paper"], written["measured"])
            assert claim.holds is written.get("holds", claim.holds)  # 0.1.0 wrote what was decided
        assert f"bitreplay {one.version}; {one.date}." in script.experiment(one)


def test_claims_are_counted_by_whose_they_are(script, tmp_path):
    write_results(tmp_path, "0.2.0")
    path = tmp_path / "experiments" / "table-2.json"
    content = json.loads(path.read_text(encoding="utf-8"))
    content["claims"][0]["paper"] = f"Ours: {content['claims'][0]['paper']}"
    path.write_text(json.dumps(content), encoding="utf-8")
    script.main()
    page = (tmp_path / "results.md").read_text(encoding="utf-8")
    assert "the paper's 2 claims: 1 does not, 1 is inconclusive; ours, 1 claim: 1 holds." in page
    assert "\n3 claims: 1 holds, 1 does not, 1 is inconclusive. Each is with" in page
    content["version"] = "0.1.0"
    path.write_text(json.dumps(content), encoding="utf-8")
    script.main()
    page = (tmp_path / "results.md").read_text(encoding="utf-8")
    assert "the paper's 0 claims; not counted: those of table-2, which 0.1.0 judged by other rules." in page
    assert "\n0 claims; 3 more are of 0.1.0" in page


def test_table_1_at_full_scale_has_a_table_of_its_own(script, tmp_path):
    (tmp_path / "comparisons").mkdir()
    (tmp_path / "README.md").write_text("before\n\n{}\n\nold\n\n{}\n\nafter\n".format(*script.FULL_MARKS))
    tuned = enumerate(method("FullFineTuning", [0.8, 0.6], [0.7, 0.5], learner="FullFineTuning").histories)
    runs = [RunResult(name, seed, one) for seed, one in tuned for name in ("FullFineTuning", STOPPED)]
    runs += [RunResult("FullJoint", 0, method("FullJoint", 0.9).histories[0])]
    table = methods_table(runs, "methods-0", "", None, {"FullFineTuning": Difference([0.03, 0.05])})
    request = Request("full", tmp_path, [0, 1])
    one = write_outcome(tmp_path / "made", "table-1", an_experiment(), Outcome([table]), request, 1.0)
    (tmp_path / "experiments" / "full").mkdir(parents=True)
    (one.folder / "outcome.json").rename(tmp_path / "experiments" / "full" / "table-1.json")
    script.main()
    page = (tmp_path / "README.md").read_text(encoding="utf-8")
    assert "old" not in page
    assert page.startswith("before\n")
    assert page.endswith("\nafter\n")
    margin = 100 * Difference([0.03, 0.05]).margin
    assert f"| FullFineTuning | 65.0 ± 7.1 | 55.0 ± 7.1 | 55.0 | - | 55.0 | 4.0 ± {margin:.1f} | 0 bit |" in page
    assert "| FullJoint | - | 90.0 | - | - | - | - | 0 bit |" in page
    assert f"| **{STOPPED}** | " in page
    assert "1 or 2 seeds; " in page
    assert "with a ResNet-18 of width 32" in (tmp_path / "results.md").read_text(encoding="utf-8")


def test_a_part_of_table_1_stands_beside_the_whole_one_of_before(script, tmp_path):
    write_results(tmp_path, "0.1.0")
    (tmp_path / "experiments" / "full").mkdir()
    (tmp_path / "README.md").write_text("{}\n\nold\n\n{}\n".format(*script.FULL_MARKS))
    content = json.loads((tmp_path / "experiments" / "table-2.json").read_text(encoding="utf-8"))
    content |= {"name": "table-1", "title": "Table 1"}
    (tmp_path / "experiments" / "table-1.json").write_text(json.dumps(content), encoding="utf-8")
    table = methods_table([RunResult(STOPPED, 0, method(STOPPED, 0.9).histories[0])], "methods-0", "", None, {})
    content |= {"scale": "full", "version": "0.3.0", "tables": [asdict(table)], "remarks": [f"{NOT_RUN}IL2A."]}
    (tmp_path / "experiments" / "full" / "table-1.json").write_text(json.dumps(content), encoding="utf-8")
    script.main()
    page = (tmp_path / "results.md").read_text(encoding="utf-8")
    assert "## Table 1: scale full\n" in page
    assert "## Table 1\n" in page
    assert "as far as they have been run, all of them on 20 classes" in page
    shown = (tmp_path / "README.md").read_text(encoding="utf-8")
    assert f"1 seed; {content['machine']}" in shown
    assert f"\n\n{NOT_RUN}IL2A.\n" in shown


def test_what_was_measured_at_full_scale_comes_first(script, tmp_path):
    write_results(tmp_path, "0.2.0")
    (tmp_path / "experiments" / "full").mkdir()
    content = json.loads((tmp_path / "experiments" / "table-2.json").read_text(encoding="utf-8"))
    content |= {"scale": "full", "date": "2026-01-01"}
    content["claims"][0]["verdict"]["noises"] = ["seeds", "test samples", "network"]
    (tmp_path / "experiments" / "full" / "table-2.json").write_text(json.dumps(content), encoding="utf-8")
    script.main()
    page = (tmp_path / "results.md").read_text(encoding="utf-8")
    full, cpu = page.index(f"## {content['title']}: scale full\n"), page.index(f"## {content['title']}\n")
    assert full < cpu
    assert "| seeds, test samples, network | holds |" in page[full:cpu]
    assert "| seeds, test samples, network | holds |" not in page[cpu:]
    assert "at full scale yet" not in page
    assert page.count("<details") == page.count("</details>") > 0


def test_figures_of_0_1_0_that_were_made_again_at_full_scale_are_not_shown(script, tmp_path):
    write_results(tmp_path, "0.1.0")
    full = tmp_path / "experiments" / "full"
    full.mkdir()
    content = json.loads((tmp_path / "experiments" / "table-2.json").read_text(encoding="utf-8"))
    reached = {"columns": ["network", "a", "b", "c"], "rows": [[THERMOMETER, 0.779, 0.748, 0.7734]]}
    networks = {"name": "networks", "title": "Networks", **reached}
    content |= {"scale": "full", "version": "0.3.0", "tables": [*content["tables"], networks]}
    (full / "table-2.json").write_text(json.dumps(content), encoding="utf-8")
    script.main()
    page = (tmp_path / "results.md").read_text(encoding="utf-8")
    assert page.count(f"## {content['title']}") == 1
    assert f"## {content['title']}: scale full\n" in page
    assert "being remeasured" not in page
    assert "`results/` still has table-2." in page
    # What the networks reach, beside the paper's 81.54, 69.9 and 81.47.
    assert f"| {THERMOMETER} | 77.9 | 81.5 | 74.8 | 69.9 | 77.3 | 81.5 |" in page
    assert "scale full, bitreplay 0.3.0, 2025-03-01.</sub>" in page

    # Another network of the same name is a row of its own, and both say who stands on them.
    content |= {"name": "table-4", "date": "2025-03-02 to 2025-03-04"}
    networks["rows"] = [[THERMOMETER, 0.7, 0.6, 0.65]]
    (full / "table-4.json").write_text(json.dumps(content), encoding="utf-8")
    script.main()
    page = (tmp_path / "results.md").read_text(encoding="utf-8")
    assert f"| {THERMOMETER} (table-2) | 77.9 | 81.5 | 74.8 | 69.9 | 77.3 | 81.5 |" in page
    assert f"| {THERMOMETER} (table-4) | 70.0 | 81.5 | 60.0 | 69.9 | 65.0 | 81.5 |" in page
    assert "scale full, bitreplay 0.3.0, 2025-03-01 to 2025-03-04.</sub>" in page


@pytest.mark.parametrize(
    ("version", "preset", "scale", "gone"),
    [("0.1.0", "cpu", "full", True), ("0.1.0", "cpu", "cpu", False), ("0.1.0", "cpu_hybrid", "full", False)],
)
def test_comparisons_on_the_network_of_preset_cpu_are_superseded_by_table_1(script, version, preset, scale, gone):
    tasks = replace(read_outcome(ROOT / "results" / "experiments" / "table-1-tasks.json"), scale=scale)
    content = {"bitreplay": version, "setting": {"preset": preset}}
    assert script.is_superseded(content, [tasks]) is gone
    assert not script.is_superseded({**content, "made": {"version": "0.2.0"}}, [tasks])


def test_the_first_screen_of_the_committed_results(script, tmp_path):
    folder = ROOT / "results" / "experiments"
    curves, tasks = (read_outcome(folder / f"{name}.json") for name in ("figure-4", "table-1-tasks"))
    page = script.first_screen([curves, tasks], tmp_path / "results.svg", "results.svg")
    assert f"`figure-4`, scale cpu, bitreplay {curves.version}, {curves.date}" in page
    assert "| GBM K=8 | " in page
    assert "| 67.0 |" in page  # the paper's, beside ours
    drawn = (tmp_path / "results.svg").read_text(encoding="utf-8")
    assert drawn.startswith("<?xml")


def test_stopping_after_task_0_from_the_accuracy_of_its_network(script):
    stopping = importlib.import_module(
        "reproducibility_tables"
    ).stopping  # beside the script, whose folder is on the path
    methods = [{"method": "FullFineTuning", "per_state": [0.6, 0.2, 0.1]}]
    assert stopping({"tasks": "10 + 2 x 5", "methods": methods}) == pytest.approx([0.6, 0.4, 0.3])
    assert stopping({"tasks": "10 + 2 + 8", "methods": methods}) == pytest.approx([0.6, 0.5, 0.3])
