// Package servicemanager talks to the service manager that has started the process, such as systemd: a [Notifier] sends
// it the states of sd_notify(3), answers its watchdog, and has it keep sockets over a restart. [Sockets] are those that
// it has passed to the process (sd_listen_fds(3)). Without a service manager, whose socket is in the variable
// NOTIFY_SOCKET, nothing is sent.
package servicemanager
