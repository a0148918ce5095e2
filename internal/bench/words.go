package bench

import (
	"fmt"
	"math/rand/v2"
	"strings"

	"github.com/understudy-ai/understudy/memory"
)

// What the invented company talks about. Everything is drawn from these lists
// with fixed seeds, so that two runs have the same words.
var (
	projects = strings.Split("ledger,billing,payroll,checkout,search,catalogue,inbox,calendar,reporting,identity,shipping,returns,pricing,"+
		"inventory,support,newsletter,mobile,partner,archive,telemetry,onboarding,subscription,invoice,forecast,warehouse", ",")
	components = strings.Split("write path,event bus,database,cache,queue,scheduler,gateway,login page,audit log,rate limiter,search index,"+
		"backup job,test suite,data model,export,import,alerting,dashboard,mail sender,file store", ",")
	tools = strings.Split("PostgreSQL,Kafka,NATS,Redis,SQLite,ClickHouse,RabbitMQ,Elasticsearch,Terraform,Kubernetes,Nomad,Prometheus,Grafana,"+
		"Vault,MinIO,Envoy,Temporal,Airflow,DuckDB,etcd", ",")
	people = strings.Split("Ana,Milan,Jovana,Petar,Mira,Luka,Sara,Nikola,Ivana,Marko", ",")
)

var facts = []struct {
	kind memory.Type
	text string // tool, component, project, person
}{
	{memory.Decision, "We decided to use %[1]s for the %[2]s of the %[3]s."},
	{memory.Fact, "The %[2]s of the %[3]s runs on %[1]s in two regions."},
	{memory.Fact, "%[4]s owns the %[2]s of the %[3]s and knows %[1]s well."},
	{memory.Goal, "The goal for the %[3]s is a %[2]s that answers within 50 ms, also while %[1]s restarts."},
	{memory.Todo, "We still have to move the %[2]s of the %[3]s away from %[1]s."},
	{memory.Event, "The %[2]s of the %[3]s failed in March because %[1]s ran out of disk; %[4]s repaired it."},
	{memory.Observation, "%[4]s finds the %[2]s of the %[3]s slow since %[1]s was upgraded."},
}

var questions = []string{
	"Which tool did we choose for the %[1]s of the %[2]s, and why?",
	"Who owns the %[1]s of the %[2]s?",
	"What failed in the %[1]s of the %[2]s in March?",
	"Compare two ways to scale the %[1]s of the %[2]s.",
	"Draft a short note on the %[1]s of the %[2]s.",
	"What is left to do for the %[1]s of the %[2]s?",
	"Design the %[1]s of the %[2]s step by step; prove it safe.",
}

func pick[T any](r *rand.Rand, list []T) T { return list[r.IntN(len(list))] }

// MaxMemories is how many different memories a scope can hold: each component of
// each project once.
const MaxMemories = 500

// fact is the i-th memory of a scope; no two of the first MaxMemories are alike.
func fact(r *rand.Rand, i int) memory.NewItem {
	if i%50 == 49 { // standing ones are few, and are in every prompt
		return memory.NewItem{Type: memory.Preference, Content: fmt.Sprintf("I prefer short answers about the %s of the %s.", components[i%20], projects[i/20])}
	}
	f := facts[i%len(facts)]
	text := fmt.Sprintf(f.text+"%.0[4]s", pick(r, tools), components[i%20], projects[i/20], pick(r, people))
	return memory.NewItem{Type: f.kind, Content: text}
}

// question is what a person asks in a turn: the same for the same seeds.
func question(session, turn uint64) string {
	r := rand.New(rand.NewPCG(session, turn))
	return fmt.Sprintf(pick(r, questions), pick(r, components), pick(r, projects))
}

// prose is text of at least n bytes.
func prose(r *rand.Rand, n int) string {
	var b strings.Builder
	for b.Len() < n {
		fmt.Fprintf(&b, "The %s of the %s depends on the %s, which %s changed to %s after the review. ",
			pick(r, components), pick(r, projects), pick(r, components), pick(r, people), pick(r, tools))
		if r.IntN(4) == 0 {
			b.WriteString("\n\n")
		}
	}
	return b.String()
}

// source is program text of at least n bytes, full of what JSON escapes.
func source(r *rand.Rand, n int) string {
	var b strings.Builder
	for b.Len() < n {
		fmt.Fprintf(&b, "func handle%d(c *Ctx) error {\n\tif c.Name == \"%s\" {\n\t\treturn fmt.Errorf(\"no %s for %%q\", c.Path)\n\t}\n\treturn nil // %s\n}\n\n",
			r.IntN(1000), pick(r, projects), pick(r, components), pick(r, tools))
	}
	return b.String()
}
