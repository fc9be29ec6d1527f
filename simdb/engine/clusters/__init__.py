"""Clusters: groups of documents that matches connect, searched for or maintained."""
