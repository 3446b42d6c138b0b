"""The resources that offer more than the calls of the API."""
