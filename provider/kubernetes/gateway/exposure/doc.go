// Package exposure decides at which addresses Gateways are reached, and where their listeners are bound.
//
// Input are the Gateways with the ports that they need, the options of providers.kubernetesGateway, and what earlier
// decisions have left in the cluster: the addresses in the statuses of Gateways, and the ports in their Services. All
// instances of Sluice derive the same from that, whatever the order in which they learn of it. What it does not say is
// decided by the leader, who writes it there first: a port is bound only after it is recorded.
//
// With the exposure service, each Gateway has a Service in its namespace, whose targetPorts are the ports that Sluice
// listens on, and EndpointSlices with the pods of Sluice, since these are in another namespace (service.go, objects.go,
// leader.go). With the exposure node, a Gateway listens on its own ports (node.go), with pool at an address of its own
// (pool.go). The labels and annotations that a Gateway demands of what is created for it are then carried by a Service
// without an address.
package exposure
