package bench

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"time"
)

// child is a process that says on its first line of output where it serves,
// and ends when its standard input does: also when this process is killed.
type child struct {
	cmd   *exec.Cmd
	stdin io.Closer
	log   *os.File
	url   string
}

// endWithin is how long a child may take to end before it is killed.
const endWithin = 40 * time.Second

// startChild runs the program and waits until it serves. Its talk goes to a
// file.
func startChild(ctx context.Context, exe, logFile string, args ...string) (*child, error) {
	log, err := os.Create(logFile)
	if err != nil {
		return nil, fmt.Errorf("starting %s: %w", strings.Join(args, " "), err)
	}
	c := &child{cmd: exec.CommandContext(ctx, exe, args...), log: log}
	c.cmd.Stderr, c.cmd.WaitDelay = log, endWithin
	stdin, err := c.cmd.StdinPipe()
	if err != nil {
		return nil, fmt.Errorf("starting %s: %w", strings.Join(args, " "), err)
	}
	c.stdin = stdin
	c.cmd.Cancel = stdin.Close
	stdout, err := c.cmd.StdoutPipe()
	if err != nil {
		return nil, fmt.Errorf("starting %s: %w", strings.Join(args, " "), err)
	}
	if err := c.cmd.Start(); err != nil {
		return nil, fmt.Errorf("starting %s: %w", strings.Join(args, " "), err)
	}
	line, err := bufio.NewReader(stdout).ReadString('\n')
	if c.url = strings.TrimSpace(line); err != nil {
		_ = c.stop() // the log tells more
		text, _ := os.ReadFile(logFile)
		return nil, fmt.Errorf("%s ended before it served: %s", strings.Join(args, " "), bytes.TrimSpace(text))
	}
	return c, nil
}

func (c *child) pid() int { return c.cmd.Process.Pid }

// stop asks the child to end and waits for it. A nil child has ended.
func (c *child) stop() error {
	if c == nil {
		return nil
	}
	c.stdin.Close()
	kill := time.AfterFunc(endWithin, func() { _ = c.cmd.Process.Kill() })
	defer kill.Stop()
	defer c.log.Close()
	if err := c.cmd.Wait(); err != nil {
		return fmt.Errorf("ending %s: %w", strings.Join(c.cmd.Args[1:], " "), err)
	}
	return nil
}
