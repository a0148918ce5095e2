//go:build linux

package cmd

import (
	"bytes"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/understudy-ai/understudy/llmtest"
)

// faulty is a real server in a process of its own, as a user whom file modes
// bind, on a data folder that something is wrong with.
type faulty struct {
	t       *testing.T
	dir     string // the data folder
	volume  bool   // it is a small file system of its own
	command string // that the server is started by
	*child         // nil before that
}

// TestStoreFaults does to each store's file what disks and people do, before
// the server starts and while it runs: requests keep flowing, readiness,
// metrics and one log line say so, and once it is mended all that waited is in
// the file, without a restart.
func TestStoreFaults(t *testing.T) {
	tests := []struct {
		name   string
		before bool // it is done before the server starts
		harm   func(f *faulty, store string) (mend func())
		stores []string // that are hit together, or nil: each by itself
		lossy  bool     // what was written before it was noticed is gone
	}{
		{"locked", false, (*faulty).lock, nil, false},
		{"locked at start", true, (*faulty).lock, nil, false},
		{"read-only file at start", true, (*faulty).protectFile, nil, false},
		{"read-only folder at start", true, (*faulty).protectFolder, stores, false},
		{"damaged", false, (*faulty).damage, nil, true},
		{"damaged at start", true, (*faulty).damage, nil, false},
		{"full disk", false, (*faulty).fill, stores, false},
		{"full disk at start", true, (*faulty).fill, stores, false},
		{"no room for files", false, (*faulty).limitFiles, stores, false},
		{"no room for files at start", true, (*faulty).limitFiles, stores, false},
	}
	for _, tt := range tests {
		groups := [][]string{tt.stores}
		if tt.stores == nil {
			groups = [][]string{stores[:1], stores[1:]}
		}
		for _, hit := range groups {
			t.Run(tt.name+" "+strings.Join(hit, " and "), func(t *testing.T) {
				t.Parallel()
				f := newFaulty(t)
				if strings.HasPrefix(tt.name, "full disk") {
					f.mount()
				} else if strings.HasPrefix(tt.name, "no room") {
					f.command = "understudy" // whose limits we may change
				}
				var mend func()
				if tt.before {
					mend = tt.harm(f, hit[0])
					f.start()
				} else {
					f.start()
					f.say("Hello.")
					f.await(200, "ready")
					mend = tt.harm(f, hit[0])
				}
				f.check(hit, tt.lossy, mend)
			})
		}
	}
}

var stores = []string{"memory", "ledger"}

// check holds what is promised while the stores hit are out of order, and
// after.
func (f *faulty) check(hit []string, lossy bool, mend func()) {
	f.t.Helper()
	var ids []string
	for range 5 {
		ids = append(ids, f.say("We decided to use PostgreSQL for the ledger."))
	}
	for _, store := range hit {
		f.await(503, store)
		f.awaitMetric("understudy_"+store+"_up", "0")
	}
	if lossy {
		ids = nil
	}
	ids = append(ids, f.say("We decided to use PostgreSQL for the ledger."))
	mend()
	f.await(200, "ready")
	ids = append(ids, f.say("We decided to call the team Falcon."))
	for _, store := range stores {
		f.awaitMetric("understudy_"+store+"_up", "1")
	}
	for _, id := range ids {
		if !eventually(func() bool { status, _ := f.get("/api/requests/" + id); return status == http.StatusOK }) {
			f.t.Errorf("request %s is not in the ledger", id)
		}
	}
	if !eventually(func() bool {
		_, body := f.get("/api/memories?user=ana")
		return strings.Contains(body, "PostgreSQL") && strings.Contains(body, "Falcon")
	}) {
		f.t.Error("what was said is not remembered")
	}
	for store, line := range map[string]string{"memory": "memory cannot be used", "ledger": "ledger cannot write"} {
		want := strings.Count(strings.Join(hit, " "), store)
		if got := strings.Count(f.log.String(), line); got != want {
			f.t.Errorf("%q is logged %d times, want %d", line, got, want)
		}
	}
	if f.t.Failed() {
		f.t.Logf("log:\n%s", f.log.String())
	}
}

func newFaulty(t *testing.T) *faulty {
	t.Helper()
	dir := t.TempDir()
	f := &faulty{t: t, dir: filepath.Join(dir, "data"), command: "understudy-user"}
	if err := errors.Join(os.Chmod(filepath.Dir(dir), 0o711), os.Mkdir(f.dir, 0o700)); err != nil {
		t.Fatal(err)
	}
	return f
}

// mount puts the data folder on a small file system of its own, where that can
// be had.
func (f *faulty) mount() {
	if unix.Mount("tmpfs", f.dir, "tmpfs", 0, "size=4m,mode=0700") != nil {
		f.command = "understudy"
		return
	}
	f.volume = true
	f.t.Cleanup(func() {
		if err := unix.Unmount(f.dir, 0); err != nil {
			f.t.Error(err)
		}
	})
}

func (f *faulty) start() {
	f.t.Helper()
	upstream, err := llmtest.Start("small-one", "large-one")
	if err != nil {
		f.t.Fatal(err)
	}
	f.t.Cleanup(func() { _ = upstream.Close() })
	f.own()
	const models = "models:\n  - {name: small-one, tier: small}\n  - {name: large-one, tier: frontier}\n" +
		"routing:\n  profiles: {balanced: {light: small-one, standard: large-one, heavy: large-one}}\n"
	config := filepath.Join(filepath.Dir(f.dir), "my.yaml")
	if err := os.WriteFile(config, []byte(models), 0o644); err != nil { // the other user has to read it
		f.t.Fatal(err)
	}
	f.child = startChild(f.t, []string{"UNDERSTUDY_UPSTREAMS_DEFAULT_BASE_URL=" + upstream.URL()},
		f.command, "serve", "-config", config, "-listen", "127.0.0.1:0", "-data-dir", f.dir)
}

// own gives the folder and what is in it to the server's user.
func (f *faulty) own() {
	f.t.Helper()
	if os.Getuid() != 0 || f.command != "understudy-user" {
		return
	}
	err := filepath.Walk(f.dir, func(path string, _ os.FileInfo, err error) error {
		return errors.Join(err, os.Chown(path, 65534, 65534))
	})
	if err != nil {
		f.t.Fatal(err)
	}
}

// say sends one turn, which must be answered, and returns its id.
func (f *faulty) say(text string) string {
	f.t.Helper()
	body := fmt.Sprintf(`{"model":"auto","user":"ana","messages":[{"role":"user","content":%q}]}`, text)
	resp, err := http.Post(f.base+"/v1/chat/completions", "application/json", strings.NewReader(body))
	if err != nil {
		f.t.Fatal(err)
	}
	defer resp.Body.Close()
	answer, err := io.ReadAll(resp.Body)
	if err != nil || resp.StatusCode != http.StatusOK || !bytes.Contains(answer, []byte("simulated answer")) {
		f.t.Errorf("got %d %s, %v; want an answer", resp.StatusCode, answer, err)
	}
	return resp.Header.Get("X-Request-Id")
}

// await waits for readiness to be answered so.
func (f *faulty) await(status int, has string) {
	f.t.Helper()
	var got int
	var body string
	if !eventually(func() bool {
		got, body = f.get("/readyz")
		return got == status && strings.Contains(body, has)
	}) {
		f.t.Fatalf("/readyz is %d %s, want %d with %q; log:\n%s", got, body, status, has, f.log.String())
	}
}

func (f *faulty) awaitMetric(name, value string) {
	f.t.Helper()
	line := regexp.MustCompile(`(?m)^` + name + ` ` + value + `$`)
	if !eventually(func() bool { _, body := f.get("/metrics"); return line.MatchString(body) }) {
		f.t.Errorf("/metrics lacks %s %s", name, value)
	}
}

func (f *faulty) file(store string) string { return filepath.Join(f.dir, store+".db") }

// lock begins to write the file, as another process.
func (f *faulty) lock(store string) (mend func()) {
	f.t.Helper()
	db, err := sql.Open("sqlite", "file:"+f.file(store)+"?_pragma=busy_timeout(10000)")
	if err != nil {
		f.t.Fatal(err)
	}
	f.t.Cleanup(func() { _ = db.Close() })
	conn, err := db.Conn(context.Background())
	if err != nil {
		f.t.Fatal(err)
	}
	if _, err := conn.ExecContext(context.Background(), "BEGIN EXCLUSIVE"); err != nil {
		f.t.Fatal(err)
	}
	return func() {
		if _, err := conn.ExecContext(context.Background(), "ROLLBACK"); err != nil {
			f.t.Fatal(err)
		}
		f.own()
	}
}

func (f *faulty) protectFile(store string) (mend func()) {
	f.t.Helper()
	if err := os.WriteFile(f.file(store), nil, 0o400); err != nil {
		f.t.Fatal(err)
	}
	return func() { f.chmod(f.file(store), 0o600) }
}

func (f *faulty) protectFolder(string) (mend func()) {
	f.chmod(f.dir, 0o500)
	return func() { f.chmod(f.dir, 0o700) }
}

func (f *faulty) chmod(path string, mode os.FileMode) {
	f.t.Helper()
	if err := os.Chmod(path, mode); err != nil {
		f.t.Fatal(err)
	}
}

// fill fills the disk, or else the quota of the process.
func (f *faulty) fill(store string) (mend func()) {
	f.t.Helper()
	if !f.volume {
		return f.limitFiles(store)
	}
	ballast, err := os.Create(filepath.Join(f.dir, "ballast"))
	if err != nil {
		f.t.Fatal(err)
	}
	for err == nil {
		_, err = ballast.Write(make([]byte, 1024))
	}
	if !errors.Is(err, syscall.ENOSPC) || ballast.Close() != nil {
		f.t.Fatal(err)
	}
	return func() {
		if err := os.Remove(ballast.Name()); err != nil {
			f.t.Fatal(err)
		}
	}
}

// limitFiles has every write to a file fail that is not at its very start.
func (f *faulty) limitFiles(string) (mend func()) {
	f.t.Helper()
	if f.child == nil {
		f.command = "understudy-full"
	} else {
		f.setLimit(0)
	}
	return func() { f.setLimit(unix.RLIM_INFINITY) }
}

func (f *faulty) setLimit(bytes uint64) {
	f.t.Helper()
	limit := unix.Rlimit{Cur: bytes, Max: unix.RLIM_INFINITY}
	if err := unix.Prlimit(f.cmd.Process.Pid, unix.RLIMIT_FSIZE, &limit, nil); err != nil {
		f.t.Fatal(err)
	}
}

// damage overwrites what is there. It is mended by taking the file away.
func (f *faulty) damage(store string) (mend func()) {
	f.t.Helper()
	for _, suffix := range []string{"", "-wal"} {
		info, err := os.Stat(f.file(store) + suffix)
		size := 4096
		if err == nil {
			size = int(info.Size())
		} else if suffix != "" {
			continue
		}
		if err := os.WriteFile(f.file(store)+suffix, bytes.Repeat([]byte("junk"), size/4), 0o600); err != nil {
			f.t.Fatal(err)
		}
	}
	return func() {
		for _, suffix := range []string{"-wal", "-shm", ""} { // else the server might open a new file with an old log
			if err := os.Remove(f.file(store) + suffix); err != nil && !errors.Is(err, os.ErrNotExist) {
				f.t.Fatal(err)
			}
		}
	}
}
