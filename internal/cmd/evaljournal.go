package cmd

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"

	"github.com/understudy-ai/understudy/eval"
)

// journaled is a line of partial.jsonl: a finished scenario, and the run that
// it is of.
type journaled struct {
	Run     string       `json:"run"`
	Outcome eval.Outcome `json:"outcome"`
}

// journal reads what an interrupted run has finished, and goes on with its
// file, so that this one can be resumed as well.
func (e *evalCall) journal(path string) error {
	run, err := e.cfg.Fingerprint()
	if err != nil {
		return err
	}
	if !e.resume {
		err = os.Remove(path)
	} else {
		err = e.readJournal(path, run)
	}
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("the earlier run: %w", err)
	}
	e.cfg.OnOutcome = func(done eval.Outcome) error { return appendJournal(path, journaled{run, done}) }
	return nil
}

func (e *evalCall) readJournal(path, run string) error {
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	defer f.Close()
	lines := bufio.NewScanner(f)
	lines.Buffer(nil, maxLine)
	for lines.Scan() {
		var line journaled
		if json.Unmarshal(lines.Bytes(), &line) != nil {
			continue // half of a line, from when it was killed
		}
		if line.Run != run {
			return hintError{errors.New("it had other scenarios, conditions or settings, or was of another version"), "without -resume all of it is asked anew"}
		}
		e.cfg.Done = append(e.cfg.Done, line.Outcome)
	}
	return lines.Err()
}

// appendJournal begins a new line first, since the last one may be half of one.
func appendJournal(path string, line journaled) error {
	data, err := json.Marshal(line)
	if err != nil {
		return err
	}
	f, err := os.OpenFile(path, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o644)
	if err != nil {
		return fmt.Errorf("noting a finished scenario: %w", err)
	}
	_, err = f.Write([]byte("\n" + string(data) + "\n"))
	return errors.Join(err, f.Close())
}
