from simdb.compat import importing as importing
from simdb.compat.mcp import server_of as server_of
from simdb.compat.notes import NOTES as NOTES
