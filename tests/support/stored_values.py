"""Values as they lie in the file of an open database, changed behind its back."""


def change_value(database, subdatabase, key, change):
    """Replace a stored value by what `change` makes of its bytes; None removes it."""
    environment = database._store.environment
    handle = environment.subdatabase(subdatabase)

    def write(writer):
        made = change(bytes(writer.get(key, db=handle)))
        if made is None:
            writer.delete(key, db=handle)
        else:
            writer.put(key, made, db=handle)

    environment.write(write)
