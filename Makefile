# make demo   set up, retune the real Alpha libc (or the embedded sample), verify, run a program
# make test   set up, then style, types and the whole test suite
# make test-deep  the same with all that is drawn, not a share of it
# make bench  set up, then figures as ratios measured in one run
# make mutants  20,000 random changes of real files, and what the verifier says of each: docs/mutants.md
# make fuzz-programs N=5000  set up, then random programs retuned and run before and after (default 500)
# make fuzz N=20000  set up, then damaged files given to every command (default 100000)
# make clean  remove what was built; `make distclean` also the virtual environment
# Nothing asks questions; what is already set up is left alone (scripts/setup.sh).

BIN := .venv/bin

.PHONY: demo test test-deep bench mutants fuzz fuzz-programs clean distclean

demo:
	@scripts/setup.sh demo
	@$(BIN)/python scripts/demo.py

test:
	@scripts/setup.sh test
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy & types=$$!; $(BIN)/pytest -n 2 --dist worksteal && wait $$types

test-deep: export RETUNE_TESTS := deep
test-deep: test

bench:
	@scripts/setup.sh test
	@$(BIN)/python benchmarks/bench.py; status=$$?; $(BIN)/python benchmarks/ratios.py && exit $$status

mutants:
	@scripts/setup.sh test
	@$(BIN)/python benchmarks/mutants.py --write docs/mutants.md
	@$(BIN)/python benchmarks/mutants.py --ordered --number 2000 --write docs/mutants-of-order.md

fuzz:
	@scripts/setup.sh test
	@$(BIN)/python scripts/fuzz_inputs.py $(or $(N),100000)

fuzz-programs:
	@scripts/setup.sh test
	@$(BIN)/python scripts/fuzz_programs.py $(or $(N),500)

clean:
	rm -rf build rewriter/compiled .cache .mypy_cache .ruff_cache .pytest_cache .hypothesis

distclean: clean
	rm -rf .venv *.egg-info
