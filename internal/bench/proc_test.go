package bench

import (
	"os"
	"path/filepath"
	"testing"
	"time"
)

func TestProc(t *testing.T) {
	root := t.TempDir()
	write := func(path, text string) {
		t.Helper()
		path = filepath.Join(root, path)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write("7/task/7/schedstat", "68131 241639 4\n")
	write("7/task/9/schedstat", "1000000 5 1\n")
	write("7/status", "Name:\tx\nVmHWM:\t  4096 kB\nVmRSS:\t  2560 kB\nThreads:\t2\n")
	write("8/task/8/schedstat", "nonsense\n")
	write("8/status", "Name:\tx\n")

	if got, err := cpuTime(root, 7); got != 1068131*time.Nanosecond || err != nil {
		t.Errorf("cpuTime = %v, %v", got, err)
	}
	if got, err := residentMB(root, 7); got != 2.5 || err != nil {
		t.Errorf("residentMB = %v, %v", got, err)
	}
	for _, pid := range []int{8, 9} {
		if got, err := cpuTime(root, pid); err == nil {
			t.Errorf("cpuTime(%d) = %v, want an error", pid, got)
		}
		if got, err := residentMB(root, pid); err == nil {
			t.Errorf("residentMB(%d) = %v, want an error", pid, got)
		}
	}
}
