package scoring

// Features are what the weights of a learned scorer apply to, for those who fit them.
type Features struct {
	Named []float64 `json:"named"` // in the order of [FeatureNames]
	Slots []uint32  `json:"slots"` // of the words and pairs of words, each once; below 1<<17
}

// FeatureNames returns the names of [Features].Named.
func FeatureNames() []string { return featureNames() }

// Extractor reads texts for fitting weights. It needs none itself.
type Extractor struct{ scorer Scorer }

// NewExtractor returns an extractor that uses the built-in lists.
func NewExtractor() (*Extractor, error) {
	words, err := compileDimensions(nil)
	if err == nil {
		err = addConcepts(words)
	}
	if err != nil {
		return nil, err
	}
	return &Extractor{Scorer{words: words, deep: true}}, nil
}

// Features returns the features of one human message, as [HumanText] returned it.
func (x *Extractor) Features(text string) Features {
	f := Features{Slots: []uint32{}}
	r := reading{ngrams: ngrams{seen: func(slot uint32, _ string) { f.Slots = append(f.Slots, slot) }}}
	x.scorer.examine(text, &r)
	dims, _ := r.features(len(text))
	var values [numFeatures]float64
	r.values(dims, &values)
	f.Named = values[:]
	return f
}
