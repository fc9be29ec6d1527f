"""A crawl of one site, run as a program: `crawler.py ADDRESS FOLDER SETTINGS`.

Writes the addresses of the items that went on to FOLDER/passed, one after the other, and the
statistics at the end to FOLDER/statistics.json.  The setting KILLED_AFTER kills the process.
"""

import json
import os
import signal
import sys

import scrapy
from scrapy.crawler import CrawlerProcess


class Site(scrapy.Spider):
    name = "site"

    def __init__(self, address):
        super().__init__()
        self.start_urls = [address]

    def parse(self, response):
        text = " ".join(response.css("p::text").getall())
        if text:
            yield {"url": response.url, "text": text}
        yield from response.follow_all(css="a")


class Passed:
    """The last pipeline: it writes down what comes to it, and can kill the process then."""

    def __init__(self, crawler):
        self.limit = crawler.settings.getint("KILLED_AFTER")
        self.path = crawler.settings["PASSED"]
        self.count = 0

    @classmethod
    def from_crawler(cls, crawler):
        return cls(crawler)

    def process_item(self, item, spider=None):
        with open(self.path, "a") as file:
            file.write(item["url"] + "\n")
        self.count += 1
        if self.count == self.limit:
            os.kill(os.getpid(), signal.SIGKILL)
        return item


def main():
    address, folder, given = sys.argv[1:]
    settings = {
        "ITEM_PIPELINES": {
            "simdb.compat.scrapy.NearDuplicatePipeline": 300,
            Passed: 900,
        },
        "SIMDB_PATH": os.path.join(folder, "seen.simdb"),
        "PASSED": os.path.join(folder, "passed"),
        "LOG_LEVEL": "INFO",
        "TELNETCONSOLE_ENABLED": False,
        "CONCURRENT_REQUESTS_PER_DOMAIN": 8,
        "DOWNLOAD_DELAY": 0,
        "ROBOTSTXT_OBEY": False,
    }
    process = CrawlerProcess(settings | json.loads(given))
    crawler = process.create_crawler(Site)
    process.crawl(crawler, address=address)
    process.start()
    with open(os.path.join(folder, "statistics.json"), "w") as file:
        json.dump(crawler.stats.get_stats(), file, default=str)


if __name__ == "__main__":
    main()
