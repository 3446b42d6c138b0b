"""Signs webhook requests with the providers' own Python libraries.

One order comes as JSON on standard input; the headers of each request go to
standard output. Every signature was accepted by the library that made it. A request
that has headers already is checked instead: the answer tells whether the library
takes them.
"""

import importlib
import importlib.metadata
import json
import sys
from datetime import datetime, timezone


def standard(module, prefix):
    webhooks = importlib.import_module(module)

    def sign(request):
        webhook = webhooks.Webhook(request["secret"])
        if "headers" in request:
            try:
                webhook.verify(request["body"], request["headers"])
            except webhooks.WebhookVerificationError as error:
                return {"refused": str(error)}
            return {}
        signature = webhook.sign(request["id"], datetime.fromtimestamp(request["time"], tz=timezone.utc), request["body"])
        headers = {f"{prefix}-id": request["id"], f"{prefix}-timestamp": str(request["time"]), f"{prefix}-signature": signature}
        webhook.verify(request["body"], headers)
        return headers

    return sign


def stripe():
    signatures = importlib.import_module("stripe").WebhookSignature

    def sign(request):
        # The library signs for its own tests only, so the name begins with an underscore.
        signature = signatures._compute_signature(f"{request['time']}.{request['body']}", request["secret"])
        header = f"t={request['time']},{signatures.EXPECTED_SCHEME}={signature}"
        signatures.verify_header(request["body"], header, request["secret"], tolerance=300)
        return {"stripe-signature": header}

    return sign


# Imported only when asked for: svix takes seconds to load.
LIBRARIES = {
    "standardwebhooks": lambda: standard("standardwebhooks.webhooks", "webhook"),
    "svix": lambda: standard("svix.webhooks", "svix"),
    "stripe": stripe,
}


def main():
    order = json.load(sys.stdin)
    sign = LIBRARIES[order["library"]]()
    headers = [sign(request) for request in order["requests"]]
    json.dump({"version": importlib.metadata.version(order["library"]), "headers": headers}, sys.stdout)


if __name__ == "__main__":
    main()
