package assemble

// scaffoldPair holds a shape's scaffold for the two tiers that use one. The frontier tier never does.
type scaffoldPair struct{ small, mid string }

// scaffolds maps a task shape to its scaffold. It is read only. draft has none, because a form would cramp creation;
// mixed has none, because it is too ambiguous to have a form.
var scaffolds = map[string]scaffoldPair{
	"research":     retrieval,
	"compare":      analysis,
	"decide":       analysis,
	"review":       analysis,
	"plan-execute": execution,
}

var (
	retrieval = scaffoldPair{
		small: "Cite the frame. Quote the relevant fragment. Answer directly.",
		mid:   "Cite source. Answer.",
	}
	analysis = scaffoldPair{
		small: "State the assumption. List the trade-offs. Give the recommendation.",
		mid:   "Briefly state assumption, then recommendation.",
	}
	execution = scaffoldPair{
		small: "Confirm inputs. State plan in one sentence. Execute. Report result.",
		mid:   "State plan. Execute. Report.",
	}
)

// scaffold returns the scaffold for a request, or "" when none applies.
func (a *Assembler) scaffold(in *Input) string {
	if in.HeldOut {
		return ""
	}
	return a.due(in)
}

// due is the scaffold that a request would get if none were held out.
func (a *Assembler) due(in *Input) string {
	if in.FormatFixed || !(in.ShapeConfidence >= a.opts.ConfidenceThreshold) {
		return ""
	}
	switch pair := scaffolds[in.Shape]; in.Tier {
	case Small:
		return pair.small
	case Mid:
		return pair.mid
	}
	return ""
}
