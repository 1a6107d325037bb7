package node

import (
	"context"
	"errors"
	"fmt"
	"path"
	"slices"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/sluiceproxy/sluice/integration/cluster/node/image"
)

// known reports whether the programs of all of a pod's images are known.
func known(pod *corev1.Pod) bool {
	return !slices.ContainsFunc(pod.Spec.Containers, func(one corev1.Container) bool { return !image.Known(one.Image) })
}

// containers returns what the programs of the pod see. The error is errAbsent if a Secret or a ConfigMap is missing.
func (p *pod) containers() ([]image.Container, error) {
	if p.wishes.process || p.wishes.onStop == hang || p.wishes.onStop == closes {
		return nil, errBehaviour
	}
	volumes := map[string]map[string][]byte{}
	for _, volume := range p.object.Spec.Volumes {
		files, err := p.volume(volume)
		if err != nil {
			return nil, fmt.Errorf("volume %s: %w: %w", volume.Name, errAbsent, err)
		}
		volumes[volume.Name] = files
	}
	var found []image.Container
	for _, container := range p.object.Spec.Containers {
		one := image.Container{Image: container.Image, Files: map[string][]byte{}, Log: p.log}
		for _, address := range p.taken {
			one.Hosts = append(one.Hosts, address.String())
		}
		var err error
		if one.Env, err = p.environment(container); err != nil {
			return nil, err
		}
		for _, mount := range container.VolumeMounts {
			for name, content := range volumes[mount.Name] {
				one.Files[path.Join(mount.MountPath, name)] = content
			}
		}
		found = append(found, one)
	}
	return found, nil
}

// environment returns the variables of a container, whose sources may be fields of the pod.
func (p *pod) environment(container corev1.Container) (map[string]string, error) {
	if len(container.EnvFrom) > 0 {
		return nil, errors.New("envFrom is not supported")
	}
	variables := map[string]string{}
	for _, variable := range container.Env {
		value := variable.Value
		if source := variable.ValueFrom; source != nil {
			if source.FieldRef == nil {
				return nil, fmt.Errorf("variable %s: only fieldRef is supported", variable.Name)
			}
			var err error
			if value, err = p.field(source.FieldRef.FieldPath); err != nil {
				return nil, fmt.Errorf("variable %s: %w", variable.Name, err)
			}
		}
		variables[variable.Name] = value
	}
	return variables, nil
}

// field returns a field of the pod.
func (p *pod) field(path string) (string, error) {
	switch path {
	case "metadata.name":
		return p.name, nil
	case "metadata.namespace":
		return p.namespace, nil
	case "metadata.uid":
		return string(p.uid), nil
	case "spec.nodeName":
		return p.machine.object.Name, nil
	case "spec.serviceAccountName":
		return p.object.Spec.ServiceAccountName, nil
	case "status.podIP":
		return p.taken[0].String(), nil
	case "status.hostIP":
		return p.machine.object.Status.Addresses[0].Address, nil
	}
	return "", fmt.Errorf("field %s is not supported", path)
}

// volume returns the files of a Secret or a ConfigMap by their path below the mount. Other volumes are empty.
func (p *pod) volume(volume corev1.Volume) (map[string][]byte, error) {
	var files map[string][]byte
	var items []corev1.KeyToPath
	switch {
	case volume.Secret != nil:
		secret, err := get(p, func(ctx context.Context) (*corev1.Secret, error) {
			return p.nodes.options.Client.CoreV1().Secrets(p.namespace).Get(ctx, volume.Secret.SecretName, metav1.GetOptions{})
		})
		if err != nil {
			return nil, err
		}
		files, items = secret.Data, volume.Secret.Items
	case volume.ConfigMap != nil:
		config, err := get(p, func(ctx context.Context) (*corev1.ConfigMap, error) {
			return p.nodes.options.Client.CoreV1().ConfigMaps(p.namespace).Get(ctx, volume.ConfigMap.Name, metav1.GetOptions{})
		})
		if err != nil {
			return nil, err
		}
		files, items = map[string][]byte{}, volume.ConfigMap.Items
		for name, text := range config.Data {
			files[name] = []byte(text)
		}
		for name, content := range config.BinaryData {
			files[name] = content
		}
	}
	if len(items) == 0 {
		return files, nil
	}
	selected := map[string][]byte{}
	for _, item := range items {
		content, ok := files[item.Key]
		if !ok {
			return nil, fmt.Errorf("no key %s", item.Key)
		}
		selected[item.Path] = content
	}
	return selected, nil
}

// errAbsent means that a volume cannot be mounted yet.
var errAbsent = errors.New("not available")

// get gets an object within the limit of concurrent calls.
func get[T any](p *pod, call func(context.Context) (T, error)) (T, error) {
	var found T
	err := p.nodes.limit(p.ctx, func() (err error) {
		found, err = call(p.ctx)
		return err
	})
	return found, err
}
