package filter_test

import (
	"testing"

	"github.com/lineshaft/lineshaft/internal/jsonbody"
)

// githubIssue is 2 KB as GitHub sends them: addresses, mostly.
const githubIssue = `{"action":"opened","issue":{"url":"https://api.github.com/repos/acme/hello-world/issues/1347",` +
	`"repository_url":"https://api.github.com/repos/acme/hello-world",` +
	`"labels_url":"https://api.github.com/repos/acme/hello-world/issues/1347/labels{/name}",` +
	`"comments_url":"https://api.github.com/repos/acme/hello-world/issues/1347/comments",` +
	`"html_url":"https://github.com/acme/hello-world/issues/1347","id":444500041,"node_id":"MDU6SXNzdWU0NDQ1MDAwNDE=",` +
	`"number":1347,"title":"Spelling error in the \"README\" file","user":{"login":"octocat","id":21031067,` +
	`"node_id":"MDQ6VXNlcjIxMDMxMDY3","avatar_url":"https://avatars1.githubusercontent.com/u/21031067?v=4","gravatar_id":"",` +
	`"url":"https://api.github.com/users/octocat","html_url":"https://github.com/octocat","type":"User","site_admin":false},` +
	`"labels":[{"id":1362934389,"node_id":"MDU6TGFiZWwxMzYyOTM0Mzg5","name":"area/7","color":"d73a4a","default":true}],` +
	`"state":"open","locked":false,"assignee":null,"milestone":null,"comments":0,"created_at":"2019-05-15T15:20:18Z",` +
	`"updated_at":"2019-05-15T15:20:18Z","closed_at":null,"author_association":"OWNER",` +
	`"body":"It looks like you accidentally spelled 'commit' with two 't's.\r\n\r\nSee line 3."},"repository":{"id":186853002,` +
	`"node_id":"MDEwOlJlcG9zaXRvcnkxODY4NTMwMDI=","name":"hello-world","full_name":"acme/hello-world","private":false,` +
	`"owner":{"login":"acme","id":21031068,"type":"Organization","site_admin":false},` +
	`"html_url":"https://github.com/acme/hello-world","description":null,"fork":false,"default_branch":"main",` +
	`"stargazers_count":0,"open_issues":2,"topics":["go","webhooks"]},"sender":{"login":"octocat","id":21031067,` +
	`"node_id":"MDQ6VXNlcjIxMDMxMDY3","avatar_url":"https://avatars1.githubusercontent.com/u/21031067?v=4",` +
	`"url":"https://api.github.com/users/octocat","html_url":"https://github.com/octocat","type":"User","site_admin":false}}`

// BenchmarkDelivery is what a delivery's body goes through: the checks of the ingress, then the filters.
func BenchmarkDelivery(b *testing.B) {
	set := benchSet(b, 100, benchFilters()["usual"])
	body := []byte(githubIssue)
	var found []int
	b.SetBytes(int64(len(body)))
	b.ReportAllocs()
	for b.Loop() {
		doc, err := jsonbody.Parse(body)
		if err != nil {
			b.Fatal(err)
		}
		found = set.Match(doc, found)
	}
}

func BenchmarkCheck(b *testing.B) {
	body := githubBody(b)
	b.SetBytes(int64(len(body)))
	b.ReportAllocs()
	for b.Loop() {
		if err := jsonbody.Check(body, jsonbody.Options{Limit: int64(len(body)), AllowNUL: true}); err != nil {
			b.Fatal(err)
		}
	}
}
