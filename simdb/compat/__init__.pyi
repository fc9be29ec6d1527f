from simdb.compat import importing as importing
from simdb.compat.scrapy import NearDuplicatePipeline as NearDuplicatePipeline
