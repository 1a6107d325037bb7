// Package environments tests virtual environments on a real control plane: VirtualEnvironments of KT-env, pods with
// tags, and requests through the edge.
package environments
