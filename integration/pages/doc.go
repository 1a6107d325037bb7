// Package pages runs the user documentation as a reader would: it writes the configuration files that a page shows,
// runs its shell commands in order, and compares what they print with the answers on the page.
//
// A page takes part when it has a block of shell commands with one of these words after the language:
//
//	sh run      runs once; the exit code must be 0
//	sh fails    runs once; the exit code must not be 0
//	sh await    runs again until it prints the answer that follows, for at most twenty seconds
//	sh start    starts a process that goes on in the background
//
// A block `text answer` is what the block before it prints. "..." in a line stands for any text, a line with only "..."
// for any number of lines. Commands that readers do not need are in a comment that begins with "<!-- sh run".
//
// Blocks of YAML and TOML with the word static or dynamic are files. The path may follow; without one it is that of
// the default folder, /etc/sluice. Each dynamic file must pass `sluice check`. Other files are blocks such as
// `text file PATH`.
//
// A page has namespaces of its own: a network in which 10.0.0.0/24 and 192.0.2.0/24 are local addresses, processes that
// end with the page, and private copies of /etc, /var/log, /srv and /run, so that pages use the real paths and ports.
package pages
