from simdb.compat import importing as importing
from simdb.compat.notes import NOTES as NOTES
