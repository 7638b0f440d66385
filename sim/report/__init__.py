"""What a run tells its reader: figures, one offline page, a summary for the terminal, one request's story.

Owns wording, layout and pictures. Works from a bundle alone (record, series, slowest requests, profile figures), so
that anybody who holds a bundle sees what whoever ran it saw; must not know the run, the world, the kernel or the target
that produced it. Only ``figures`` and ``style`` import matplotlib and only ``page`` imports jinja2: the modules are
named in full where they are used, and nothing is imported here.
"""
