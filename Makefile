# What is made once and committed. Building and testing need only go (see AGENTS.md).

PYTHON ?= python3
DATA   ?=
VENV   := .venv-weights

.PHONY: weights check-weights

# weights fits scoring/weights.bin from the labelled prompts in the folder DATA; docs/SCORING.md says which.
weights: $(VENV)/installed understudy-features
	$(VENV)/bin/python tools/weights/fit.py --data "$(DATA)" --binary ./understudy-features
	@rm -f understudy-features

# check-weights cross-validates, which takes some minutes, and prints the table of docs/SCORING.md.
check-weights: $(VENV)/installed understudy-features
	$(VENV)/bin/python tools/weights/check.py --data "$(DATA)" --binary ./understudy-features
	@rm -f understudy-features

.PHONY: understudy-features
understudy-features:
	go build -o $@ .

$(VENV)/installed: tools/weights/requirements.txt
	$(PYTHON) -m venv $(VENV)
	$(VENV)/bin/pip install -q -r $<
	@touch $@
