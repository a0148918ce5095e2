package cmd

import (
	"context"
	"encoding/pem"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
)

// TestTLSUpstream has an upstream behind TLS: it is asked when its certificate
// can be trusted and not otherwise, and its request ends when the client goes.
func TestTLSUpstream(t *testing.T) {
	asked, left := make(chan struct{}), make(chan struct{})
	upstream := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body) // as far as it goes
		if strings.Contains(string(body), "wait") {
			asked <- struct{}{}
			<-r.Context().Done()
			close(left)
			return
		}
		_, _ = io.WriteString(w, `{"choices":[{"message":{"content":"over TLS"},"finish_reason":"stop"}]}`)
	}))
	upstream.Config.ErrorLog = log.New(io.Discard, "", 0) // of certificates that are not trusted
	upstream.StartTLS()
	defer upstream.Close()
	roots := filepath.Join(t.TempDir(), "roots.pem")
	if err := os.WriteFile(roots, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: upstream.Certificate().Raw}), 0o600); err != nil {
		t.Fatal(err)
	}
	tests := []struct {
		name   string
		env    string
		status int
		want   string
	}{
		{"trusted", "SSL_CERT_FILE=" + roots, 200, "over TLS"},
		{"not trusted", "SSL_CERT_FILE=" + os.DevNull, 502, "upstream_unreachable"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			c := startChild(t, []string{"UNDERSTUDY_UPSTREAMS_DEFAULT_BASE_URL=" + upstream.URL + "/v1", tt.env, "SSL_CERT_DIR=" + t.TempDir()},
				"understudy", "serve", "-listen", "127.0.0.1:0", "-data-dir", filepath.Join(t.TempDir(), "data"))
			resp, err := http.Post(c.base+"/v1/chat/completions", "application/json", strings.NewReader(`{"model":"m","messages":[{"role":"user","content":"hi"}]}`))
			if err != nil {
				t.Fatal(err)
			}
			defer resp.Body.Close()
			answer, err := io.ReadAll(resp.Body)
			if err != nil || resp.StatusCode != tt.status || !strings.Contains(string(answer), tt.want) {
				t.Errorf("got %d %s, %v; want %d with %q", resp.StatusCode, answer, err, tt.status, tt.want)
			}
			if tt.status != 200 {
				return
			}
			ctx, leave := context.WithCancel(t.Context())
			defer leave()
			req, err := http.NewRequestWithContext(ctx, http.MethodPost, c.base+"/v1/chat/completions", strings.NewReader(`{"model":"m","messages":[{"role":"user","content":"wait"}]}`))
			if err != nil {
				t.Fatal(err)
			}
			var client sync.WaitGroup
			client.Go(func() {
				if resp, err := http.DefaultClient.Do(req); err == nil {
					t.Errorf("got an answer, HTTP %d", resp.StatusCode)
					resp.Body.Close()
				}
			})
			<-asked
			leave()
			client.Wait()
			<-left
		})
	}
}
