package cmd

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/understudy-ai/understudy/ledger"
	"github.com/understudy-ai/understudy/llmtest"
)

func TestMain(m *testing.M) {
	testscript.Main(m, map[string]func(){
		"understudy": func() {
			os.Exit(Main(os.Args[1:], IO{In: os.Stdin, Out: os.Stdout, Err: os.Stderr, Env: os.Environ()}))
		},
		// understudy-log LOGFILE ... writes stderr to a file, which a script can
		// read while the command runs.
		"understudy-log": func() {
			log, err := os.Create(os.Args[1])
			if err != nil {
				fmt.Fprintln(os.Stderr, err)
				os.Exit(3)
			}
			os.Exit(Main(os.Args[2:], IO{In: os.Stdin, Out: os.Stdout, Err: log, Env: os.Environ()}))
		},
		// understudy-user is understudy as a user whom file modes bind.
		"understudy-user": func() {
			if os.Getuid() == 0 {
				const nobody = 65534
				if err := errors.Join(syscall.Setgroups(nil), syscall.Setgid(nobody), syscall.Setuid(nobody)); err != nil {
					fmt.Fprintln(os.Stderr, err)
					os.Exit(3)
				}
			}
			os.Exit(Main(os.Args[1:], IO{In: os.Stdin, Out: os.Stdout, Err: os.Stderr, Env: os.Environ()}))
		},
		// understudy-full is understudy where no file may grow.
		"understudy-full": func() {
			limit := syscall.Rlimit{Max: math.MaxUint64}
			if err := syscall.Setrlimit(syscall.RLIMIT_FSIZE, &limit); err != nil {
				fmt.Fprintln(os.Stderr, err)
				os.Exit(3)
			}
			os.Exit(Main(os.Args[1:], IO{In: os.Stdin, Out: os.Stdout, Err: os.Stderr, Env: os.Environ()}))
		},
	})
}

// TestScript runs the command line as its users do. Each script has an upstream
// of its own, at $UPSTREAM, with the models small-one and large-one.
func TestScript(t *testing.T) {
	testscript.Run(t, testscript.Params{
		Dir:                 "testdata/script",
		RequireExplicitExec: true,
		RequireUniqueNames:  true,
		Setup: func(env *testscript.Env) error {
			upstream, err := llmtest.Start("small-one", "large-one")
			if err != nil {
				return err
			}
			env.Defer(func() { _ = upstream.Close() })
			env.Setenv("UPSTREAM", upstream.URL())
			return nil
		},
		Cmds: map[string]func(ts *testscript.TestScript, neg bool, args []string){
			"exits": cmdExits, "waitready": cmdWaitReady, "say": cmdSay, "sigterm": cmdSigterm, "entry": cmdEntry,
		},
	})
}

// cmdExits runs a command that must exit with a status: exits STATUS COMMAND ...
func cmdExits(ts *testscript.TestScript, _ bool, args []string) {
	want, err := strconv.Atoi(args[0])
	ts.Check(err)
	err = ts.Exec(args[1], args[2:]...)
	got := 0
	if exit, ok := errors.AsType[*exec.ExitError](err); ok {
		got = exit.ExitCode()
	} else {
		ts.Check(err)
	}
	if got != want {
		ts.Fatalf("%s exits with %d, want %d", strings.Join(args[1:], " "), got, want)
	}
}

var servingAt = regexp.MustCompile(`http://(127\.0\.0\.1:\d+)/v1`)

// cmdWaitReady waits until the server that writes a log is ready, and sets
// $ADDR to where it listens: waitready LOGFILE
func cmdWaitReady(ts *testscript.TestScript, _ bool, args []string) {
	ready := func() bool {
		log, err := os.ReadFile(ts.MkAbs(args[0]))
		at := servingAt.FindSubmatch(log)
		if err != nil || at == nil {
			return false
		}
		ts.Setenv("ADDR", string(at[1]))
		resp, err := http.Get("http://" + string(at[1]) + "/readyz")
		return err == nil && resp.Body.Close() == nil && resp.StatusCode == http.StatusOK
	}
	if !eventually(ready) {
		log, err := os.ReadFile(ts.MkAbs(args[0]))
		ts.Fatalf("not ready: %v\n%s", err, log)
	}
}

// eventually asks for up to a minute whether something is so.
func eventually(so func() bool) bool {
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	for range 6000 {
		if so() {
			return true
		}
		<-tick.C
	}
	return false
}

// cmdSay sends one turn to the server at $ADDR, prints the answer with its
// headers and sets $ID to the request's: say MODEL TEXT
func cmdSay(ts *testscript.TestScript, _ bool, args []string) {
	body := fmt.Sprintf(`{"model":%q,"messages":[{"role":"user","content":%q}]}`, args[0], args[1])
	resp, err := http.Post("http://"+ts.Getenv("ADDR")+"/v1/chat/completions", "application/json", strings.NewReader(body))
	ts.Check(err)
	defer resp.Body.Close()
	fmt.Fprintln(ts.Stdout(), resp.Status)
	ts.Check(resp.Header.Write(ts.Stdout()))
	_, err = io.Copy(ts.Stdout(), resp.Body)
	ts.Check(err)
	ts.Setenv("ID", resp.Header.Get("X-Request-Id"))
}

// cmdSigterm asks every background command to end, as an init system does.
func cmdSigterm(ts *testscript.TestScript, _ bool, _ []string) {
	for _, c := range ts.BackgroundCmds() {
		ts.Check(c.Process.Signal(syscall.SIGTERM))
	}
}

// cmdEntry prints a request's entry in the ledger: entry DATADIR ID
func cmdEntry(ts *testscript.TestScript, _ bool, args []string) {
	l, err := ledger.Open(context.Background(), ledger.Config{Path: filepath.Join(ts.MkAbs(args[0]), "ledger.db")})
	ts.Check(err)
	defer func() { ts.Check(l.Close()) }()
	e, err := l.Get(context.Background(), "default", args[1])
	ts.Check(err)
	ts.Check(json.NewEncoder(ts.Stdout()).Encode(e))
}
