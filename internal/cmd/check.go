package cmd

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/tidwall/gjson"

	"github.com/understudy-ai/understudy/internal/config"
	"github.com/understudy-ai/understudy/routing"
)

// checked is one model of the catalogue, as check reports it.
type checked struct {
	Name      string   `json:"name"`
	ID        string   `json:"id"`
	Upstream  string   `json:"upstream"`
	Tier      string   `json:"tier"`
	Context   int      `json:"context"`
	MaxOutput int      `json:"max_output"`
	Supports  []string `json:"supports"`
	Priced    bool     `json:"priced"`
	Input     float64  `json:"input_usd,omitempty"`  // per million tokens
	Output    float64  `json:"output_usd,omitempty"` // per million tokens
	Probe     string   `json:"probe,omitempty"`      // "ok", or why not
}

func runCheck(ctx context.Context, args []string, o IO) error {
	f := flags("check")
	cf := addConfigFlags(f)
	probe := f.Bool("probe", false, "send one tiny request to each model and report the dead ones")
	asJSON := f.Bool("json", false, "write the catalogue as JSON")
	if err := parse(f, args, o); err != nil {
		return err
	}
	loaded, err := cf.load(o)
	if err != nil {
		return err
	}
	catalogue, err := newCatalogue(loaded.Config)
	if err != nil {
		return err
	}
	agents, err := checkAgents(loaded.Config)
	if err != nil {
		return err
	}
	var rows []checked
	dead := 0
	for _, m := range catalogue.All() {
		row := describeModel(m)
		if *probe {
			fmt.Fprintf(o.Err, "understudy: probing %s ...\n", m.Name)
			row.Probe = probeModel(ctx, loaded.Config.Upstreams[m.Upstream], m.ID, o)
			if row.Probe != probeOK {
				dead++
			}
		}
		rows = append(rows, row)
	}
	report := reportCheck
	if *asJSON {
		report = reportCheckJSON
	}
	if err := report(rows, agents, o.Out); err != nil {
		return err
	}
	if dead > 0 {
		return hintError{
			fmt.Errorf("%d of %d models gave no answer", dead, len(rows)),
			"a model's id must be what its upstream calls it; see GET /v1/models there",
		}
	}
	return nil
}

func describeModel(m *routing.Model) checked {
	row := checked{
		Name: m.Name, ID: m.ID, Upstream: m.Upstream, Tier: m.Tier.String(),
		Context: m.Context, MaxOutput: m.MaxOutput, Supports: m.Supports, Priced: m.Price != nil,
	}
	if m.Price != nil {
		row.Input, row.Output = m.Price.Input, m.Price.Output
	}
	return row
}

func reportCheckJSON(rows []checked, agents []checkedAgent, out io.Writer) error {
	dead := func(r checked) bool { return r.Probe != "" && r.Probe != probeOK }
	return json.NewEncoder(out).Encode(map[string]any{"ok": !slices.ContainsFunc(rows, dead), "models": rows, "agents": agents})
}

func reportCheck(rows []checked, agents []checkedAgent, out io.Writer) error {
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "MODEL\tID\tUPSTREAM\tTIER\tWINDOW\tOUTPUT\tUSD/M IN\tUSD/M OUT\tSUPPORTS\tPROBE")
	for _, r := range rows {
		in, outPrice := "unknown", "unknown"
		if r.Priced {
			in, outPrice = fmt.Sprint(r.Input), fmt.Sprint(r.Output)
		}
		fmt.Fprintf(w, "%s\t%s\t%s\t%s\t%s\t%s\t%s\t%s\t%s\t%s\n", r.Name, r.ID, r.Upstream, r.Tier,
			known(r.Context), known(r.MaxOutput), in, outPrice, strings.Join(r.Supports, ","), cmp.Or(r.Probe, "-"))
	}
	reportAgents(agents, w)
	fmt.Fprintln(w, "\nThe configuration is valid.")
	return w.Flush()
}

func known(n int) string {
	if n == 0 {
		return "unknown"
	}
	return fmt.Sprint(n)
}

const probeOK = "ok"

// probeModel asks a model for a few tokens and says "ok" or what went wrong.
func probeModel(ctx context.Context, u config.Upstream, id string, o IO) string {
	key, err := u.APIKey(o.getenv)
	if err != nil {
		return err.Error()
	}
	body, err := json.Marshal(map[string]any{"model": id, "messages": []map[string]string{{"role": "user", "content": "Say ok."}}})
	if err != nil {
		return err.Error()
	}
	ctx, cancel := context.WithTimeout(ctx, u.Timeouts.Connect+u.Timeouts.FirstByte+time.Second)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, u.BaseURL+"/chat/completions", bytes.NewReader(body))
	if err != nil {
		return err.Error()
	}
	req.Header.Set("Content-Type", "application/json")
	if key != "" {
		req.Header.Set("Authorization", "Bearer "+string(key))
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return err.Error()
	}
	defer resp.Body.Close()
	answer, err := io.ReadAll(io.LimitReader(resp.Body, 1<<20))
	switch {
	case err != nil:
		return err.Error()
	case resp.StatusCode != http.StatusOK:
		return strings.TrimSpace(fmt.Sprintf("HTTP %d %s", resp.StatusCode, oneLine(gjson.GetBytes(answer, "error.message").String())))
	case !gjson.GetBytes(answer, "choices.0").Exists():
		return "HTTP 200 without choices"
	}
	return probeOK
}

// oneLine shortens an upstream's words for a table.
func oneLine(s string) string {
	return fmt.Sprintf("%.160s", strings.Join(strings.Fields(s), " "))
}
