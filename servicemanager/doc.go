// Package servicemanager talks to the service manager that has started the process, such as systemd: a [Notifier] sends
// it the states of sd_notify(3), and answers its watchdog. Without a service manager, which is one whose socket is not in
// the variable NOTIFY_SOCKET, nothing is sent.
package servicemanager
