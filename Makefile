# Two commands do everything on a fresh machine: `make demo` and `make test`. Both create the environment they need.
PYTHON ?= python3
VENV ?= .venv
READY = $(VENV)/.ready
PIP_OPTIONS = --quiet --disable-pip-version-check --constraint constraints.txt --editable
BENCH_VENV = benchmarks/.venv
BENCH_READY = $(BENCH_VENV)/.ready

.PHONY: demo test types suite kernels test-load test-browser studio-pictures test-device test-wheel docs fuzz fuzz-device attack mutants format bench bench-docs bench-env clean

demo: $(READY)
	$(VENV)/bin/bitreplay demo

test: $(READY)
	$(VENV)/bin/ruff check .
	$(VENV)/bin/ruff format --check .
	$(VENV)/bin/lint-imports
	$(MAKE) --no-print-directory --jobs 2 types suite

types: $(READY)
	$(VENV)/bin/mypy

# Two workers for two cores: with several threads each, they would wait for each other.
suite: kernels
	OMP_NUM_THREADS=1 $(VENV)/bin/pytest -n 2 --dist worksteal

# A compiled kernel is not compiled again when what it uses of another file has changed: start from none. Modules are
# compiled here for the many processes that tests start, as some machines write no bytecode by themselves.
kernels: $(READY)
	find src -name '*.nb[ic]' -delete
	$(VENV)/bin/python -m compileall -q src tests
	$(VENV)/bin/python -c 'from bitreplay._kernels import em, layers, rows, sampler, winograd'

# Ten runs of the tests that wait for processes or time, beside six busy loops: about half an hour on two cores.
test-load: $(READY)
	$(VENV)/bin/python tests/under_load.py

# The studio's page in Debian's chromium with a fake camera (apt-get install chromium npm); axe-core looks for barriers.
test-browser: $(READY)
	$(VENV)/bin/python -m pip install --quiet --disable-pip-version-check --constraint constraints.txt playwright
	npm install --silent --no-audit --no-fund --prefix tests/browser axe-core@4.14.0
	BITREPLAY_TEST_BROWSER=1 $(VENV)/bin/pytest -x tests/browser

# The README's pictures of the studio, taken by one of these tests.
studio-pictures: $(READY)
	BITREPLAY_TEST_BROWSER=1 BITREPLAY_PICTURES=docs/images $(VENV)/bin/pytest -x tests/browser/test_pictures.py

# The C library once more, on an emulated Cortex-M and on a big-endian machine. Says what to install if it is missing.
test-device: $(READY)
	BITREPLAY_TEST_DEVICE=1 $(VENV)/bin/pytest tests/device tests/real/test_device.py

# Builds sdist and wheel, checks them, and installs them into empty environments: core alone, then each extra.
test-wheel: $(READY)
	$(VENV)/bin/python -m pip install $(PIP_OPTIONS) '.[release]'
	$(VENV)/bin/python tests/wheel.py

# Property tests with other examples for some minutes, then files of memories and models: a million that atheris has changed,
# each refused or identical. About an hour and a half on two cores; whoever stops it continues where they were.
FUZZ_MINUTES ?= 10
FUZZ_FILES ?= 1000000
fuzz: $(READY)
	$(VENV)/bin/python -m pip install $(PIP_OPTIONS) '.[fuzz]'
	$(VENV)/bin/python fuzz/properties.py --minutes $(FUZZ_MINUTES)
	$(VENV)/bin/python fuzz/files.py --runs $(FUZZ_FILES)

# Ten million damaged blocks under AddressSanitizer and UBSan; `make -C fuzz minimize` then keeps what was new in fuzz/corpus.
FUZZ_RUNS ?= 10000000
fuzz-device: $(READY)
	$(MAKE) -C fuzz PYTHON=$(abspath $(VENV))/bin/python RUNS=$(FUZZ_RUNS)

# The attacks of tests/attack in their long form, which docs/reliability.md speaks of: about twenty minutes on two busy cores.
attack: $(READY)
	BITREPLAY_ATTACK=long $(VENV)/bin/pytest tests/attack --durations=20

# Mutants of the core that no test notices, of a drawn sample: MUTANTS="heads --each 1000 --seed 3" draws others. About two
# core-minutes for each package.
MUTANTS ?=
mutants: $(READY)
	$(VENV)/bin/python -m pip install $(PIP_OPTIONS) '.[mutants]'
	OMP_NUM_THREADS=1 NUMBA_NUM_THREADS=1 $(VENV)/bin/python -m tests.mutants.run $(MUTANTS)

# The documentation site, in site/: reads offline. Warnings are errors.
docs: $(READY)
	$(VENV)/bin/python -m pip install $(PIP_OPTIONS) '.[docs]'
	$(VENV)/bin/python docs/site.py

format: $(READY)
	$(VENV)/bin/ruff check --fix .
	$(VENV)/bin/ruff format .

# Peers are measured in an environment of their own: they never become dependencies of the project.
bench: $(BENCH_READY)
	$(BENCH_VENV)/bin/python benchmarks/bench.py

# Only this writes docs/speed.md and results/: figures of the project, not of whoever runs them.
bench-docs: $(BENCH_READY)
	$(BENCH_VENV)/bin/python benchmarks/bench.py --docs

bench-env: $(BENCH_READY)

$(BENCH_READY): pyproject.toml constraints.txt benchmarks/requirements.txt
	@echo "Creating the environment of the benchmarks in $(BENCH_VENV); this takes a few minutes."
	$(PYTHON) -m venv $(BENCH_VENV)
	$(BENCH_VENV)/bin/python -m pip install --quiet --disable-pip-version-check --constraint constraints.txt --editable . -r benchmarks/requirements.txt
	@touch $(BENCH_READY)

# The pip of a recent year installs this in half of the time that Python's own takes. It would compile twenty thousand
# modules one by one, for as long as it installs them: here on all cores. Like pip, this passes over files that are no
# Python of this version.
$(READY): pyproject.toml constraints.txt
	@echo "Creating the environment in $(VENV); this takes some minutes."
	$(PYTHON) -c 'import sys; sys.exit("bitreplay needs Python 3.11 or newer, got " + sys.version if sys.version_info < (3, 11) else 0)'
	$(PYTHON) -m venv $(VENV)
	$(VENV)/bin/python -m pip install --quiet --disable-pip-version-check --constraint constraints.txt --upgrade pip
	$(VENV)/bin/python -m pip install --no-compile $(PIP_OPTIONS) '.[dev]' \
	|| { echo "Once more, without pip's cache: a download may have come damaged."; \
	     $(VENV)/bin/python -m pip install --no-compile --no-cache-dir $(PIP_OPTIONS) '.[dev]'; }
	@$(VENV)/bin/python -m compileall -qq -j 0 -x '/tests?/|/transformers/models/' $(VENV)/lib || true
	@touch $(READY)

clean:
	rm -rf $(VENV) $(BENCH_VENV) .pytest_cache .mypy_cache .ruff_cache .hypothesis
