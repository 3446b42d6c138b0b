package kubernetes

import (
	"context"
	"errors"
	"fmt"
	"strings"
)

// needed is what the launcher does in its namespace; docs/kubernetes.md has the Role.
func needed() []access {
	var all []access
	add := func(kind resource, sub string, verbs ...string) {
		for _, verb := range verbs {
			all = append(all, access{Verb: verb, Group: kind.group, Resource: kind.name, Subresource: sub})
		}
	}
	add(jobsKind(), "", "create", "get", "list", "watch", "delete")
	add(podsKind(), "", "list", "watch")
	add(podsKind(), "log", "get")
	add(secretsKind(), "", "create", "get", "delete")
	return all
}

// Check says whether the cluster answers and lets us do what we need. All that is
// missing is told at once.
func (c *Client) Check(ctx context.Context) error {
	var missing []string
	for _, a := range needed() {
		a.Namespace = c.namespace
		review := accessReview{APIVersion: "authorization.k8s.io/v1", Kind: "SelfSubjectAccessReview"}
		review.Spec.ResourceAttributes = a
		kind := resource{"authorization.k8s.io", "v1", "selfsubjectaccessreviews"}
		err := c.call(ctx, request{verb: "create", kind: kind, cluster: true, in: review}, &review)
		if err != nil {
			return fmt.Errorf("ask the cluster at %s: %w", c.server, err)
		}
		if !review.Status.Allowed {
			missing = append(missing, request{verb: a.Verb, kind: resource{group: a.Group, name: a.Resource}, sub: a.Subresource}.String())
		}
	}
	if len(missing) > 0 {
		return fmt.Errorf("the cluster does not allow us, in namespace %s, to %s; add them to the Role of the launcher's service account", c.namespace, strings.Join(missing, ", "))
	}
	return nil
}

// CheckPolicy says whether a NetworkPolicy of the namespace bounds the egress of our
// pods, without which egress none would be a word only. Whether the cluster's network
// obeys policies cannot be asked.
func (c *Client) CheckPolicy(ctx context.Context) error {
	type policy struct {
		Spec struct {
			PodSelector struct {
				MatchLabels map[string]string `json:"matchLabels"`
			} `json:"podSelector"`
			PolicyTypes []string `json:"policyTypes"`
		} `json:"spec"`
	}
	var found list[policy]
	if err := c.call(ctx, request{verb: "list", kind: policiesKind()}, &found); err != nil {
		return err
	}
	ours := map[string]string{labelManaged: managedBy, labelEgress: "none"}
	for _, p := range found.Items {
		selects := true
		for name, value := range p.Spec.PodSelector.MatchLabels {
			selects = selects && ours[name] == value
		}
		for _, kind := range p.Spec.PolicyTypes {
			if selects && kind == "Egress" {
				return nil
			}
		}
	}
	return errors.New("egress none needs a NetworkPolicy that bounds the egress of pods labelled " + labelEgress + "=none; docs/kubernetes.md has one")
}
