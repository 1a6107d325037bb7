package node

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	authenticationv1 "k8s.io/api/authentication/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// box returns what isolates the pod's container, with all files in place.
func (p *pod) box(c *container, image Image) (*box, error) {
	b := &box{
		Namespace: c.host.namespace.path(), Root: c.folder, Mounts: map[string]string{},
		Command: append([]string{image.Path}, c.spec.Args...),
	}
	if err := b.privileges(p.object.Spec.SecurityContext, c.spec.SecurityContext); err != nil {
		return nil, err
	}
	variables, err := p.environment(c.spec)
	if err != nil {
		return nil, err
	}
	server := p.nodes.options.Client.CoreV1().RESTClient().Get().URL()
	variables["KUBERNETES_SERVICE_HOST"], variables["KUBERNETES_SERVICE_PORT"] = server.Hostname(), server.Port()
	for name, value := range variables {
		b.Env = append(b.Env, name+"="+value)
	}
	if err := b.furnish(image); err != nil {
		return nil, err
	}
	for _, mount := range c.spec.VolumeMounts {
		if err := p.mount(b, mount); err != nil {
			return nil, fmt.Errorf("volume %s: %w", mount.Name, err)
		}
	}
	return b, nil
}

// privileges takes over the capabilities. The user must be root.
func (b *box) privileges(pod *corev1.PodSecurityContext, container *corev1.SecurityContext) error {
	if pod == nil || pod.RunAsUser == nil || *pod.RunAsUser != 0 || container == nil || container.RunAsUser != nil {
		return errors.New("a pod of a host must run as user 0, by its security context")
	}
	of := container.Capabilities
	if of == nil || !slices.Contains(of.Drop, "ALL") {
		return errors.New("the container of a pod of a host must drop all capabilities, and may add some")
	}
	for _, name := range of.Add {
		b.Capabilities = append(b.Capabilities, string(name))
	}
	b.Escalates = container.AllowPrivilegeEscalation == nil || *container.AllowPrivilegeEscalation
	return nil
}

// mount puts a volume into the file system of a box.
func (p *pod) mount(b *box, mount corev1.VolumeMount) error {
	at := slices.IndexFunc(p.object.Spec.Volumes, func(one corev1.Volume) bool { return one.Name == mount.Name })
	if at < 0 {
		return errors.New("it does not exist")
	}
	volume := p.object.Spec.Volumes[at]
	if volume.HostPath != nil {
		source, err := p.machine.host.directory(volume.HostPath)
		if err != nil {
			return err
		}
		return b.bind(source, mount.MountPath)
	}
	files, err := p.volume(volume)
	if volume.Projected != nil {
		files, err = p.projected(volume.Projected)
	}
	if err != nil {
		return fmt.Errorf("%w: %w", errAbsent, err)
	}
	folder := filepath.Join(b.Root, mount.MountPath)
	if name := mount.SubPath; name != "" {
		content, ok := files[name]
		if !ok {
			return fmt.Errorf("subPath: there is no file %s", name)
		}
		folder, files = filepath.Dir(folder), map[string][]byte{filepath.Base(folder): content}
	}
	if err := os.MkdirAll(folder, 0o755); err != nil {
		return err
	}
	for name, content := range files {
		path := filepath.Join(folder, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			return err
		}
		if err := os.WriteFile(path, content, 0o644); err != nil {
			return err
		}
	}
	return nil
}

// directory returns the directory of a hostPath.
func (h *host) directory(of *corev1.HostPathVolumeSource) (string, error) {
	path := h.file(of.Path)
	switch {
	case of.Type == nil:
		return "", errors.New("a hostPath needs a type")
	case *of.Type == corev1.HostPathDirectoryOrCreate:
		return path, os.MkdirAll(path, 0o755)
	case *of.Type == corev1.HostPathDirectory:
		if _, err := os.Stat(path); err != nil {
			return "", fmt.Errorf("%w: %w", errAbsent, err)
		}
		return path, nil
	}
	return "", fmt.Errorf("hostPath: the type %s is not supported", *of.Type)
}

// projected returns the files of a projected volume, such as that with the token of the account.
func (p *pod) projected(volume *corev1.ProjectedVolumeSource) (map[string][]byte, error) {
	files := map[string][]byte{}
	for _, source := range volume.Sources {
		switch {
		case source.ServiceAccountToken != nil:
			token, err := p.token(source.ServiceAccountToken)
			if err != nil {
				return nil, err
			}
			files[source.ServiceAccountToken.Path] = []byte(token)
		case source.ConfigMap != nil:
			more, err := p.volume(corev1.Volume{VolumeSource: corev1.VolumeSource{ConfigMap: &corev1.ConfigMapVolumeSource{
				LocalObjectReference: source.ConfigMap.LocalObjectReference, Items: source.ConfigMap.Items,
			}}})
			if err != nil {
				return nil, err
			}
			for name, content := range more {
				files[name] = content
			}
		case source.DownwardAPI != nil:
			for _, item := range source.DownwardAPI.Items {
				value, err := p.field(item.FieldRef.FieldPath)
				if err != nil {
					return nil, err
				}
				files[item.Path] = []byte(value)
			}
		default:
			return nil, errors.New("only tokens, ConfigMaps and fields of the pod can be projected")
		}
	}
	return files, nil
}

// token returns a token of the pod's account.
func (p *pod) token(of *corev1.ServiceAccountTokenProjection) (string, error) {
	request := &authenticationv1.TokenRequest{Spec: authenticationv1.TokenRequestSpec{
		ExpirationSeconds: of.ExpirationSeconds,
		BoundObjectRef:    &authenticationv1.BoundObjectReference{APIVersion: "v1", Kind: "Pod", Name: p.name, UID: p.uid},
	}}
	if of.Audience != "" {
		request.Spec.Audiences = strings.Split(of.Audience, ",")
	}
	answer, err := get(p, func(ctx context.Context) (*authenticationv1.TokenRequest, error) {
		return p.nodes.options.Client.CoreV1().ServiceAccounts(p.namespace).CreateToken(ctx,
			p.object.Spec.ServiceAccountName, request, metav1.CreateOptions{})
	})
	if err != nil {
		return "", err
	}
	return answer.Status.Token, nil
}
