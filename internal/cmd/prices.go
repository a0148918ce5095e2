package cmd

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"github.com/understudy-ai/understudy/ledger"
)

func runPrices(ctx context.Context, args []string, o IO) error {
	if len(args) > 0 {
		switch args[0] {
		case "import":
			return runPricesImport(ctx, args[1:], o)
		case "show":
			return runPricesShow(ctx, args[1:], o)
		}
	}
	return subcommand("prices", args, o, "import, show")
}

// pricesFile is where an imported price list is, in the data folder.
const pricesFile = "prices.json"

func runPricesImport(ctx context.Context, args []string, o IO) error {
	f := flags("prices import")
	cf := addConfigFlags(f)
	out := f.String("o", "", "write the list to `FILE` (default: prices.json in the data folder, where serve reads it)")
	version := f.String("version", "", "`VERSION` of the price map, to be kept with it")
	date := f.String("date", time.Now().UTC().Format(time.DateOnly), "`DATE` of the price map")
	source := f.String("source", "", "what the price map is `CALLED` (default: the name of its file)")
	common := f.Bool("common", false, "keep the main vendors' models alone, as the built-in list does")
	if err := parseFlags(f, args, o); err != nil {
		return err
	}
	if f.NArg() != 1 {
		return usageError{errors.New("prices import takes one FILE or URL: LiteLLM's model_prices_and_context_window.json")}
	}
	if _, err := time.Parse(time.DateOnly, *date); err != nil {
		return usageError{fmt.Errorf("-date %q is no day such as 2026-11-30", *date)}
	}
	path := *out
	if path == "" {
		loaded, err := cf.load(o)
		if err != nil {
			return err
		}
		path = filepath.Join(loaded.Config.DataDir, pricesFile)
	}
	data, err := fetch(ctx, f.Arg(0), o)
	if err != nil {
		return err
	}
	list, err := ledger.FromLiteLLM(data, cmp.Or(*source, filepath.Base(f.Arg(0))), *version, *date, *common)
	if err != nil {
		return err
	}
	if err := writePrices(list, path); err != nil {
		return err
	}
	_, err = fmt.Fprintf(o.Out, "%d models in %s; a running server reads them when it is started again\n", list.Len(), path)
	return err
}

const (
	maxMap    = 64 << 20 // LiteLLM's has some 2 MB.
	fetchTime = time.Minute
)

// fetch reads a price map from a file or over HTTP.
func fetch(ctx context.Context, from string, o IO) ([]byte, error) {
	if !strings.HasPrefix(from, "http://") && !strings.HasPrefix(from, "https://") {
		data, err := os.ReadFile(from)
		if err != nil {
			return nil, fmt.Errorf("reading a price map: %w", err)
		}
		return data, nil
	}
	ctx, cancel := context.WithTimeout(ctx, fetchTime)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, from, nil)
	if err != nil {
		return nil, fmt.Errorf("fetching a price map: %w", err)
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return nil, fmt.Errorf("fetching a price map: %w", err)
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		return nil, fmt.Errorf("fetching a price map: %s answers %s", from, resp.Status)
	}
	p := newProgress(o.Err, "bytes read:", max(0, resp.ContentLength))
	defer p.end()
	data, err := io.ReadAll(io.TeeReader(io.LimitReader(resp.Body, maxMap), countingWriter{p}))
	if err != nil {
		return nil, fmt.Errorf("fetching a price map: %w", err)
	}
	return data, nil
}

// countingWriter tells a progress of what passes.
type countingWriter struct{ p *progress }

func (w countingWriter) Write(b []byte) (int, error) {
	w.p.add(int64(len(b)))
	return len(b), nil
}

// writePrices puts a list in its place at once, so that nobody reads half of it.
func writePrices(list *ledger.PriceList, path string) error {
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return fmt.Errorf("making the folder of the price list: %w", err)
	}
	file, err := os.CreateTemp(filepath.Dir(path), pricesFile+".*")
	if err != nil {
		return fmt.Errorf("writing the price list: %w", err)
	}
	defer os.Remove(file.Name()) // gone already when all went well
	if err := errors.Join(list.Write(file), file.Sync(), file.Close()); err != nil {
		return fmt.Errorf("writing the price list: %w", err)
	}
	if err := os.Rename(file.Name(), path); err != nil {
		return fmt.Errorf("writing the price list: %w", err)
	}
	return nil
}

// loadPrices is the built-in list, under an imported one in the data folder.
func loadPrices(dir string) (*ledger.PriceList, error) {
	list, err := ledger.BuiltIn()
	if err != nil {
		return nil, err
	}
	path := filepath.Join(dir, pricesFile)
	data, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ENOTDIR) { // the folder, too, may be still to come
		return list, nil
	}
	if err != nil {
		return nil, fmt.Errorf("reading the imported prices: %w", err)
	}
	imported, err := ledger.ReadPriceList(data)
	if err != nil {
		return nil, hintError{fmt.Errorf("%s: %w", path, err), `"understudy prices import" writes it; without it the built-in list holds`}
	}
	return imported.Over(list), nil
}

// priced is what prices show says of a model. Prices are USD per million
// tokens; null is unknown.
type priced struct {
	Model      string        `json:"model"`
	Listed     string        `json:"listed_as,omitempty"`
	Provider   string        `json:"provider,omitempty"`
	Price      *ledger.Price `json:"price"`
	Context    int           `json:"context"`
	MaxOutput  int           `json:"max_output"`
	Supports   []string      `json:"supports"`
	Deprecated string        `json:"deprecated,omitempty"`
	From       string        `json:"from"`
}

func runPricesShow(_ context.Context, args []string, o IO) error {
	f := flags("prices show")
	cf := addConfigFlags(f)
	asJSON := f.Bool("json", false, "write JSON")
	if err := parseFlags(f, args, o); err != nil {
		return err
	}
	if f.NArg() != 1 {
		return usageError{errors.New("prices show takes one MODEL, by its name in the configuration or at its provider")}
	}
	p, err := lookUp(f.Arg(0), cf, o)
	if err != nil {
		return err
	}
	if *asJSON {
		enc := json.NewEncoder(o.Out)
		enc.SetIndent("", "  ")
		return enc.Encode(p)
	}
	return p.write(o.Out)
}

// lookUp is what holds for a model when it serves: the configuration, else the
// imported list, else the built-in one.
func lookUp(name string, cf *configFlags, o IO) (*priced, error) {
	loaded, err := cf.load(o)
	if err != nil {
		return nil, err
	}
	list, err := loadPrices(loaded.Config.DataDir)
	if err != nil {
		return nil, err
	}
	catalogue, err := newCatalogue(loaded.Config)
	if err != nil {
		return nil, err
	}
	p := &priced{Model: name}
	id := name
	if m, ok := catalogue.Find(name); ok {
		p.Price, p.Context, p.MaxOutput, p.Supports, p.From = m.Price, m.Context, m.MaxOutput, m.Supports, "the configuration"
		id = m.ID
	}
	if info, ok := list.Lookup(id); ok {
		p.Listed, p.Provider, p.Deprecated = info.Name, info.Provider, info.Deprecated
		if p.From == "" || p.Price.Same(&info.Price) {
			p.Price, p.From = &info.Price, strings.Join(strings.Fields(info.Source.Name+" "+info.Source.Version+" of "+info.Source.Date), " ")
		}
		if p.Context == 0 {
			p.Context, p.MaxOutput, p.Supports = info.Context, info.MaxOutput, info.Supports
		}
	}
	if p.From == "" {
		return nil, hintError{fmt.Errorf("no price is known for %q: its requests are counted as unpriced", name), `"understudy prices import" reads a newer list; models.N.price of the configuration sets one`}
	}
	return p, nil
}

func (p *priced) write(out io.Writer) error {
	fmt.Fprintf(out, "%s\n", p.Model)
	if p.Listed != "" && p.Listed != p.Model {
		fmt.Fprintf(out, "  listed as       %s\n", p.Listed)
	}
	if p.Price == nil {
		fmt.Fprintln(out, "  price           unknown: its requests are counted as unpriced")
	} else {
		writePrice(out, p.Price)
		if long := p.Price.Long; long != nil {
			fmt.Fprintf(out, "  all tokens of a prompt over %s:\n", grouped(p.Price.LongAbove))
			writePrice(out, long)
		}
	}
	if p.Context > 0 {
		fmt.Fprintf(out, "  window          %s tokens\n", grouped(int64(p.Context)))
	}
	if p.MaxOutput > 0 {
		fmt.Fprintf(out, "  longest answer  %s tokens\n", grouped(int64(p.MaxOutput)))
	}
	if len(p.Supports) > 0 {
		fmt.Fprintf(out, "  supports        %s\n", strings.Join(p.Supports, ", "))
	}
	if p.Deprecated != "" {
		fmt.Fprintf(out, "  switched off on %s\n", p.Deprecated)
	}
	_, err := fmt.Fprintf(out, "  price from      %s\n", p.From)
	return err
}

// writePrice writes what is known, in USD per million tokens.
func writePrice(out io.Writer, p *ledger.Price) {
	fmt.Fprintf(out, "  input           $%g per million tokens\n  output          $%g\n", p.Input, p.Output)
	for _, rate := range []struct {
		name string
		usd  *float64
	}{
		{"cache read", p.CacheRead}, {"cache write", p.CacheWrite}, {"… for an hour", p.CacheWriteHour}, {"reasoning", p.Reasoning},
	} {
		if rate.usd != nil {
			fmt.Fprintf(out, "  %-15s $%g\n", rate.name, *rate.usd)
		}
	}
}
