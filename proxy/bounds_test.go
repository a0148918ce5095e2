package proxy

import (
	"bytes"
	"errors"
	"io"
	"log/slog"
	"net"
	"os"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/prometheus/client_golang/prometheus/testutil"

	"github.com/understudy-ai/understudy/internal/metrics"
)

// TestSilentUpload holds that an upload may be slow, but not silent.
func TestSilentUpload(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server, client := net.Pipe()
		defer server.Close()
		defer client.Close()
		go func() {
			for range 3 {
				time.Sleep(clientSilence - time.Second) // the clock of synctest
				if _, err := io.WriteString(client, "x"); err != nil {
					t.Error(err)
				}
			}
		}()
		began := time.Now()
		got, err := io.ReadAll(&upload{src: server, conn: server})
		if string(got) != "xxx" || !errors.Is(err, os.ErrDeadlineExceeded) {
			t.Errorf("read %q, %v; want all that came, and that the time is up", got, err)
		}
		if took, want := time.Since(began), 4*clientSilence-3*time.Second; took != want {
			t.Errorf("it was given up after %v, want %v", took, want)
		}
	})
}

// TestRelayPanics holds that a fault of ours while a stream is relayed, when
// the handler and its recover are gone, ends that stream and nothing else.
func TestRelayPanics(t *testing.T) {
	var log bytes.Buffer
	s := &Server{cfg: Config{Logger: slog.New(slog.NewTextHandler(&log, nil)), Metrics: metrics.New(metrics.Config{})}}
	s.cfg.Metrics.InFlight.Inc()
	stopped := false
	conn, peer := net.Pipe()
	defer peer.Close()
	r := &relay{
		x:    &exchange{s: s, stop: func() { stopped = true }},
		resp: &response{body: panicky{}, conn: conn, free: func(bool) { conn.Close() }},
	}
	if n, err := r.Read(make([]byte, 10)); n != 0 || !strings.Contains(err.Error(), "panic: no more") {
		t.Errorf("Read = %d, %v; want the panic as an error", n, err)
	}
	if err := r.Close(); err != nil { // accounting panics, too: there is no ledger
		t.Error(err)
	}
	if _, err := peer.Read(make([]byte, 1)); err != io.EOF {
		t.Errorf("the upstream's connection is open: %v", err)
	}
	if got := testutil.ToFloat64(s.cfg.Metrics.InFlight); got != 0 || !stopped {
		t.Errorf("%v in flight, watch stopped: %v; want none and true", got, stopped)
	}
	if !strings.Contains(log.String(), "closing an account failed") {
		t.Errorf("logged %q", log.String())
	}
}

type panicky struct{}

func (panicky) Read([]byte) (int, error) { panic("no more") }
