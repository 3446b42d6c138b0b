package webhook_test

import (
	"context"
	"fmt"
	"time"

	"github.com/lineshaft/lineshaft/client/webhook"
)

// Sign a delivery as Standard Webhooks has it. http.DefaultClient.Do sends it.
func ExampleSender_NewRequest() {
	sender := webhook.Sender{
		Scheme: "standard_webhooks",
		Secret: "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw", // that of the webhook
		Now:    func() time.Time { return time.Unix(1614265330, 0) },
	}
	req, err := sender.NewRequest(context.Background(), "https://lineshaft.example.com/webhooks/w/UID",
		[]byte(`{"test": 2432232314}`), "msg_p5jXN8AQM9LWM0D4loKWxJek")
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(req.Header.Get("Webhook-Signature"))
	// Output: v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=
}
