package main

import (
	"errors"
	"fmt"
	"os"
	"time"

	"github.com/spf13/cobra"
	"golang.org/x/net/http/httpguts"

	"github.com/sluiceproxy/sluice/dynamic"
	"github.com/sluiceproxy/sluice/environment"
)

// signCommand prints a signed tag.
func (p *process) signCommand() *cobra.Command {
	var standard dynamic.Environment
	standard.SetDefaults()
	command := &cobra.Command{
		Use:   "sign --key-file FILE --tag TAG [--ttl TIME] [--header HEADER]",
		Short: "print a signed tag",
		Long: "Print a tag with an expiry and a signature by the key in FILE. Who sends it in HEADER may select that\n" +
			"environment until it expires, where the middleware environment has the same key.\n\n" +
			"Exit codes: 0, or 2 for wrong arguments and a key that cannot be used.",
		Example:           "  sluice environments sign --key-file tags.key --tag dev.proj1.feature1 --ttl 8h",
		DisableAutoGenTag: true,
	}
	flags := command.Flags()
	keyFile := flags.String("key-file", "", "`FILE` with the key, of at least 32 bytes")
	tag := flags.String("tag", "", "the `TAG`: 1 to 63 letters, digits, -, _ and .")
	ttl := flags.Duration("ttl", 24*time.Hour, "`TIME` until the signature expires")
	header := flags.String("header", standard.Header, "the `HEADER` that the tag is sent in")
	p.takes(command, 0, false, func(arguments) int {
		signed, err := sign(*keyFile, *header, *tag, *ttl)
		if err != nil {
			say(p.stderr, "sluice environments sign: %v\n", err)
			return exitBroken
		}
		say(p.stdout, "%s\n", signed)
		return exitFine
	})
	return command
}

// sign returns a signed tag that expires after ttl.
func sign(keyFile, header, tag string, ttl time.Duration) (string, error) {
	switch {
	case keyFile == "":
		return "", errors.New("name the file of the key with --key-file")
	case tag == "":
		return "", errors.New("name the tag with --tag")
	case ttl < time.Second:
		return "", fmt.Errorf("--ttl %v is less than a second", ttl)
	case !httpguts.ValidHeaderFieldName(header):
		return "", fmt.Errorf("--header %q is not the name of a header", header)
	}
	content, err := os.ReadFile(keyFile)
	if err != nil {
		return "", err
	}
	key, err := environment.NewKey(content)
	if err != nil {
		return "", fmt.Errorf("%s: %w", keyFile, err)
	}
	return key.Sign(header, tag, time.Now().Add(ttl))
}
