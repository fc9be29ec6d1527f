"""Scrapy: the public address of the item pipeline that settings of a crawl name."""

from simdb.compat.scrapy import NearDuplicatePipeline

__all__ = ["NearDuplicatePipeline"]
