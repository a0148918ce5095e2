// Package ledger says what each request cost, what it would have cost without
// us, and keeps that for good.
//
// It holds the built-in price list ([BuiltIn]), reads the usage that upstreams
// report ([ParseUsage]), prices it ([Price.Cost]), splits the difference to
// the baseline by cause ([Settle]), and writes one row a request to SQLite off
// the request's path ([Ledger]), together with sums by hour and day that stay
// when rows are too old to be kept. What is there is read by a [Reader].
//
// The rules of this package:
//
//   - Unknown is unknown. A missing price or usage never becomes 0; such
//     a request is counted as unpriced and carries no amounts at all.
//   - Savings are signed and net: what we add to a prompt, what a switch costs
//     in lost prompt cache, and failed attempts that were billed, all count.
//   - Baseline − cost is exactly the sum of the saved components. Amounts are
//     whole billionths of a dollar, inside and in the file, so nothing is lost
//     to rounding however many rows are added up.
//
// It doesn't choose models, read responses (the caller hands it the usage
// object), count tokens, or know of HTTP. Audio and image tokens are not told
// apart: they are priced as the model's ordinary tokens.
package ledger
