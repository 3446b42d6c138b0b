"""How the senders that Lineshaft knows sign their webhooks."""
