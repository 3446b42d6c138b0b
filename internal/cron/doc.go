// Package cron says when a timing fires: five cron fields in a time zone, @daily and
// its like, or @every 1h. It is pure: it reads no clock and starts nothing. What it
// returns does not change and may be used by many goroutines at once.
//
// # What an expression says
//
// Minute, hour, day (of the month), month, weekday, separated by blanks; each a list
// of *, n, a-b, */s, a-b/s or a/s (from a to the end), months and weekdays also
// as JAN and MON. 0 and 7 are both Sunday. When day of the month and day of the week
// both say something other than *, a day that fits either fires; a field that begins
// with * always narrows. ? is the same as *. There are no
// seconds, no years and none of L, W and #.
//
// # Daylight saving
//
// A schedule works by the wall clock of its zone, and a slot is named by the minute
// that this clock shows: "2026-10-25T02:30". Two rules for the two nights of a year:
//
//   - An expression that names hours fires once for each time it names. A time that
//     the clock shows twice fires at the first occurrence only. Times that the clock
//     skips are made up by one fire at the first minute after the gap, and not even
//     that when the expression names that minute anyway.
//   - An expression whose hours are all 24 follows real time. In the repeated hour it
//     fires again, and the name of such a slot carries its offset from UTC
//     ("2026-10-25T02:30+01:00"); times that are skipped do not exist.
//
// @every counts in real time from an anchor; its slots are named by their instant.
// No two slots of a schedule share a name, so whoever records names cannot fire twice.
package cron
