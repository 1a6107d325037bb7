// Package release holds tests of what `make release` makes: that the same commit yields the same bytes, that archives
// and image hold what they should, and that the packages can be installed, started, upgraded and removed on a Debian
// system with systemd, which runs in a container of its own. Normally the release is made for the platform of the tests
// alone; with TEST_RELEASE=all it is made for all platforms, which takes minutes more.
package release
