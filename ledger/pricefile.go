package ledger

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"slices"
)

// priceFile is a price list as a file.
type priceFile struct {
	Source
	Models map[string]listed `json:"models"`
}

// listed is a model in a file. An absent number is unknown.
type listed struct {
	Provider string `json:"provider"`
	rates
	Long       *longRates `json:"long,omitempty"`
	Context    int        `json:"context,omitempty"`
	MaxOutput  int        `json:"max_output,omitempty"`
	Supports   []string   `json:"supports,omitempty"`
	Deprecated string     `json:"deprecated,omitempty"`
}

// rates are USD per million tokens.
type rates struct {
	Input          float64  `json:"input"`
	Output         float64  `json:"output"`
	CacheRead      *float64 `json:"cache_read,omitempty"`
	CacheWrite     *float64 `json:"cache_write,omitempty"`
	CacheWriteHour *float64 `json:"cache_write_1h,omitempty"`
	Reasoning      *float64 `json:"reasoning,omitempty"`
}

type longRates struct {
	Above int64 `json:"above"`
	rates
}

func (r rates) price() Price {
	return Price{Input: r.Input, Output: r.Output, CacheRead: r.CacheRead, CacheWrite: r.CacheWrite, CacheWriteHour: r.CacheWriteHour, Reasoning: r.Reasoning}
}

func ratesOf(p *Price) rates {
	return rates{p.Input, p.Output, p.CacheRead, p.CacheWrite, p.CacheWriteHour, p.Reasoning}
}

// ReadPriceList reads what Write has written.
func ReadPriceList(data []byte) (*PriceList, error) {
	var file priceFile
	if err := json.Unmarshal(data, &file); err != nil {
		return nil, fmt.Errorf("reading a price list: %w", err)
	}
	list := &PriceList{Source: file.Source, models: make(map[string]ModelInfo, len(file.Models))}
	for name, m := range file.Models {
		info := ModelInfo{
			Name: name, Provider: m.Provider, Price: m.price(), Context: m.Context, MaxOutput: m.MaxOutput,
			Supports: m.Supports, Deprecated: m.Deprecated, Source: file.Source,
		}
		if m.Long != nil {
			long := m.Long.price()
			info.Price.Long, info.Price.LongAbove = &long, m.Long.Above
		}
		list.models[name] = info
	}

	return list, nil
}

// Write writes the list, one model a line, sorted by name, so that a newer one
// is a diff that can be read. The same list gives the same bytes.
func (l *PriceList) Write(w io.Writer) error {
	var out bytes.Buffer
	out.WriteString("{\n")
	for _, line := range [...][2]string{
		{"source", l.Source.Name}, {"version", l.Source.Version}, {"date", l.Source.Date}, {"licence", licence},
	} {
		text, err := json.Marshal(line[1])
		if err != nil {
			return fmt.Errorf("writing the %s: %w", line[0], err)
		}
		fmt.Fprintf(&out, "%q: %s,\n", line[0], text)
	}
	out.WriteString("\"models\": {\n")
	for i, name := range slices.Sorted(maps.Keys(l.models)) {
		m := l.models[name]
		line := listed{
			Provider: m.Provider, rates: ratesOf(&m.Price), Context: m.Context, MaxOutput: m.MaxOutput,
			Supports: m.Supports, Deprecated: m.Deprecated,
		}
		if m.Price.Long != nil {
			line.Long = &longRates{m.Price.LongAbove, ratesOf(m.Price.Long)}
		}
		text, err := json.Marshal(line)
		if err != nil {
			return fmt.Errorf("writing model %q: %w", name, err)
		}
		if i > 0 {
			out.WriteString(",\n")
		}
		key, err := json.Marshal(name)
		if err != nil {
			return fmt.Errorf("writing model %q: %w", name, err)
		}
		fmt.Fprintf(&out, "%s: %s", key, text)
	}
	out.WriteString("\n}}\n")
	_, err := w.Write(out.Bytes())

	return err
}

// licence is the notice that LiteLLM's licence asks every copy to carry.
const licence = `MIT License

Copyright (c) 2023 Berri AI

Permission is hereby granted, free of charge, to any person obtaining a copy
of this software and associated documentation files (the "Software"), to deal
in the Software without restriction, including without limitation the rights
to use, copy, modify, merge, publish, distribute, sublicense, and/or sell
copies of the Software, and to permit persons to whom the Software is
furnished to do so, subject to the following conditions:

The above copyright notice and this permission notice shall be included in all
copies or substantial portions of the Software.

THE SOFTWARE IS PROVIDED "AS IS", WITHOUT WARRANTY OF ANY KIND, EXPRESS OR
IMPLIED, INCLUDING BUT NOT LIMITED TO THE WARRANTIES OF MERCHANTABILITY,
FITNESS FOR A PARTICULAR PURPOSE AND NONINFRINGEMENT. IN NO EVENT SHALL THE
AUTHORS OR COPYRIGHT HOLDERS BE LIABLE FOR ANY CLAIM, DAMAGES OR OTHER
LIABILITY, WHETHER IN AN ACTION OF CONTRACT, TORT OR OTHERWISE, ARISING FROM,
OUT OF OR IN CONNECTION WITH THE SOFTWARE OR THE USE OR OTHER DEALINGS IN THE
SOFTWARE.`
