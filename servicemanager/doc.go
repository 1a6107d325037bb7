// Package servicemanager talks to the service manager that has started the process, such as systemd: a [Notifier] sends
// it the states of sd_notify(3), and answers its watchdog. [Sockets] are those that it has passed to the process
// (sd_listen_fds(3)). Without a service manager, which is one whose socket is not in the variable NOTIFY_SOCKET, nothing
// is sent.
package servicemanager
