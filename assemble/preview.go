package assemble

import "container/list"

// Preview returns what [Sessions.Plan] would, and leaves no trace.
func (s *Sessions) Preview(key Conversation, turns []TurnKey, in Input, fill Fill) (Plan, error) {
	aside := &Sessions{assembler: s.assembler, opts: s.opts, byKey: map[Conversation]*list.Element{}, recent: list.New()}
	if record := s.whole(nil, key); len(record) > 0 {
		if err := aside.Restore(record); err != nil {
			return Plan{}, err
		}
	}
	return aside.Plan(key, turns, in, fill)
}
