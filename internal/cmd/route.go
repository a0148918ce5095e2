package cmd

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/url"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/tidwall/gjson"

	"github.com/understudy-ai/understudy/internal/config"
)

func runRoute(ctx context.Context, args []string, o IO) error {
	f := flags("route")
	cf := addConfigFlags(f)
	headers := http.Header{}
	f.Func("header", "`NAME: VALUE` of the request, such as 'X-Agent-Id: bot'; may be repeated", func(text string) error {
		name, value, ok := strings.Cut(text, ":")
		if !ok {
			return fmt.Errorf("%q is not NAME: VALUE", text)
		}
		headers.Add(strings.TrimSpace(name), strings.TrimSpace(value))
		return nil
	})
	tenant := f.String("tenant", "default", "whose request it is")
	asJSON := f.Bool("json", false, "write JSON, as POST /api/route answers")
	if err := parse(f, args, o); err != nil {
		return err
	}
	body, err := io.ReadAll(o.In)
	if err != nil {
		return fmt.Errorf("reading the request body: %w", err)
	}
	loaded, err := cf.load(o)
	if err != nil {
		return err
	}
	answer, err := explainRoute(ctx, loaded.Config, o, headers, *tenant, body)
	if err != nil {
		return err
	}
	if *asJSON {
		_, err := o.Out.Write(append(answer, '\n'))
		return err
	}
	return reportRoute(gjson.ParseBytes(answer), body, o.Out)
}

// explainRoute asks the server that runs on this configuration, which knows its
// conversations; where none does, one that is started for the question and
// listens to nobody else.
func explainRoute(ctx context.Context, cfg config.Config, o IO, headers http.Header, tenant string, body []byte) ([]byte, error) {
	if running(cfg.DataDir) {
		at, by, err := serverAt(cfg.Listen)
		if err != nil {
			return nil, err
		}
		if cfg.Auth.AdminKeyEnv != "" {
			headers.Set("Authorization", "Bearer "+o.getenv(cfg.Auth.AdminKeyEnv))
		}
		return askRoute(ctx, at, &http.Client{Transport: by}, headers, tenant, body)
	}
	if _, err := os.Stat(cfg.DataDir); err != nil { // nothing is known yet, and nothing shall be left
		dir, err := os.MkdirTemp("", "understudy-route-")
		if err != nil {
			return nil, fmt.Errorf("making a folder: %w", err)
		}
		defer os.RemoveAll(dir)
		cfg.DataDir = dir
	}
	cfg.Listen, cfg.Auth = "127.0.0.1:0", config.Auth{Mode: "none"}
	cfg.Limits.SmartBudget = coldStart
	a, err := startApp(ctx, cfg, o, slog.New(slog.DiscardHandler))
	if err != nil {
		return nil, err
	}
	answer, err := askRoute(ctx, strings.TrimSuffix(a.url(), "/v1"), http.DefaultClient, headers, tenant, body)
	return answer, errors.Join(err, a.close())
}

// coldStart is the time for the smart steps of a process that has just begun:
// nothing has been compiled or loaded yet.
const coldStart = 10 * time.Second

// running reports whether a process uses the data folder.
func running(dir string) bool {
	if _, err := os.Stat(dir); err != nil {
		return false
	}
	release, err := lockDir(dir)
	if err != nil {
		return true
	}
	return release() != nil
}

func askRoute(ctx context.Context, base string, client *http.Client, headers http.Header, tenant string, body []byte) ([]byte, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, base+"/api/route?tenant="+url.QueryEscape(tenant), bytes.NewReader(body))
	if err != nil {
		return nil, usageError{err}
	}
	req.Header = headers
	req.Header.Set("Content-Type", "application/json")
	resp, err := client.Do(req)
	if err != nil {
		return nil, fmt.Errorf("asking the server: %w", err)
	}
	defer resp.Body.Close()
	answer, err := io.ReadAll(resp.Body)
	switch {
	case err != nil:
		return nil, fmt.Errorf("reading the answer: %w", err)
	case resp.StatusCode != http.StatusOK:
		return nil, fmt.Errorf("HTTP %d: %s", resp.StatusCode, oneLine(gjson.GetBytes(answer, "error.message").String()))
	}
	return answer, nil
}

// reportRoute writes an explanation for people.
func reportRoute(ex gjson.Result, body []byte, out io.Writer) error {
	w := &errWriter{w: out}
	d, id := ex.Get("decision"), ex.Get("identity")
	w.printf("model     %s (%s at %s), asked for %s\n", shown(d.Get("model").Str), shown(d.Get("id").Str), shown(d.Get("upstream").Str), shown(d.Get("requested").Str))
	w.printf("because   %s; tier %s, profile %s\n", d.Get("reason"), d.Get("tier"), d.Get("profile"))
	if ex.Get("score").Exists() {
		w.printf("scored    %.3f: %s, confidence %.2f; shape %s, %s, confidence %.2f\n", ex.Get("score.score").Num, ex.Get("score.tier"),
			ex.Get("score.confidence").Num, ex.Get("shape.type"), ex.Get("shape.complexity"), ex.Get("shape.confidence").Num)
	}
	w.printf("whose     tenant %s, agent %s, user %s, session %s, process %s\n", shown(id.Get("tenant").Str), shown(id.Get("agent").Str),
		shown(id.Get("user").Str), shown(id.Get("session").Str), id.Get("process_type"))
	needs := "nothing special"
	if n := ex.Get("needs"); len(n.Array()) > 0 {
		needs = strings.Trim(n.Raw, "[]")
	}
	w.printf("needs     %s; about %d tokens\n", needs, ex.Get("input_tokens").Int())
	if e := ex.Get("error"); e.Exists() {
		w.printf("refused   HTTP %d, %s: %s\n", e.Get("status").Int(), e.Get("code"), e.Get("message"))
	}
	if f := ex.Get("fail_open").Str; f != "" {
		w.printf("failed    %s; the request goes on without it\n", f)
	}
	w.section("Candidates", d.Get("candidates"), func(c gjson.Result) {
		fell := c.Get("fell").Str
		if fell == "" {
			fell = "taken"
		}
		w.printf("  %-24s %s\n", c.Get("model").Str, fell)
	})
	if e := d.Get("economy"); e.IsObject() {
		reportEconomy(w, e)
	}
	w.section("Cost by tier", ex.Get("costs"), func(c gjson.Result) {
		usd := "unpriced"
		if c.Get("usd").Type == gjson.Number {
			usd = fmt.Sprintf("$%.6f", c.Get("usd").Num)
		}
		if lacks := c.Get("lacks").Str; lacks != "" {
			usd += " (" + lacks + ")"
		}
		w.printf("  %-9s %-24s %s, %d tokens, %d of them warm\n", c.Get("tier"), c.Get("model").Str, usd, c.Get("prompt_tokens").Int(), c.Get("warm_tokens").Int())
	})
	w.section("Recalled", ex.Get("recalled"), func(m gjson.Result) {
		w.printf("  %.2f %-11s %.80q (%s)\n", m.Get("score").Num, m.Get("type").Str, m.Get("content").Str, m.Get("why").Str)
	})
	w.section("Changes of the body", ex.Get("edits"), func(e gjson.Result) {
		w.printf("  at byte %d\n", e.Get("start").Int())
		for _, side := range []struct{ mark, text string }{{"-", e.Get("old").Str}, {"+", e.Get("new").Str}} {
			if side.text != "" {
				w.printf("  %s %s\n", side.mark, strconv.Quote(side.text))
			}
		}
	})
	if len(ex.Get("edits").Array()) == 0 && !ex.Get("error").Exists() {
		w.printf("\nThe body goes out as it came, %d bytes.\n", len(body))
	}
	return w.err
}

func reportEconomy(w *errWriter, e gjson.Result) {
	w.printf("\nStay or move\n")
	for _, side := range []string{"stay", "move"} {
		w.printf("  %s on %-20s $%.6f over %d requests, %d tokens warm\n", side, e.Get(side+".model").Str, e.Get(side+".usd").Num, e.Get("requests").Int(), e.Get(side+".warm_tokens").Int())
	}
	switch {
	case !e.Get("priced").Bool():
		w.printf("  a price is unknown: stay\n")
	default:
		w.printf("  gain $%.6f, needed $%.6f", e.Get("gain_usd").Num, e.Get("need_usd").Num)
		if e.Get("returned").Bool() {
			w.printf("; risk $%.6f, saved so far $%.6f", e.Get("risk_usd").Num, e.Get("saved_usd").Num)
		}
		w.printf(": %s\n", map[bool]string{true: "it pays", false: "stay"}[e.Get("pays").Bool()])
	}
}

// errWriter writes until something fails.
type errWriter struct {
	w   io.Writer
	err error
}

func (w *errWriter) printf(format string, args ...any) {
	if w.err == nil {
		_, w.err = fmt.Fprintf(w.w, format, args...)
	}
}

// section writes a list under a title, nothing for an empty one.
func (w *errWriter) section(title string, list gjson.Result, item func(gjson.Result)) {
	if len(list.Array()) == 0 {
		return
	}
	w.printf("\n%s\n", title)
	for _, entry := range list.Array() {
		item(entry)
	}
}
