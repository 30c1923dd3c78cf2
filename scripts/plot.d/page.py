# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""The HTML page of scripts/report: one file that needs nothing else, no script and no network."""
import html
import re

import gp

STYLE = """
body { font: 16px/1.45 sans-serif; color: #111; max-width: 76rem; margin: 0 auto; padding: 0 1rem 3rem; }
h1 { font-size: 1.5rem; } h2 { font-size: 1.2rem; margin-top: 2.2rem; border-bottom: 1px solid #bbb; }
.wide, figure { overflow-x: auto; margin: 1rem 0; }
table { border-collapse: collapse; font-size: .85rem; }
th, td { padding: .25rem .45rem; border-bottom: 1px solid #ddd; text-align: right; white-space: nowrap; }
th:first-child, td:first-child, td.text, th.text { text-align: left; }
td.long { white-space: normal; text-align: left; overflow-wrap: anywhere; }
td.long:first-child { overflow-wrap: normal; white-space: nowrap; }
figure svg { width: 100%; min-width: 44rem; height: auto; } figcaption { font-size: .9rem; color: #444; }
.note { background: #fff4d6; border-left: 4px solid #d9a400; padding: .5rem .8rem; }
.bad { color: #a00; } dt { font-weight: bold; } dd { margin: 0 0 .5rem 1.5rem; }
@media print { body { font-size: 9pt; max-width: none; padding: 0; } .wide, figure { overflow: visible; }
 figure svg { min-width: 0; } figure, tr { break-inside: avoid; } table { font-size: 7.5pt; } details { display: none; } }
"""

# Column, keys of a result, digits matter as gp.figure has it.
LATENCY = (("min", "min_usec"), ("median", "median_usec"), ("95 % interval", "median_ci95_usec"), ("p99", "p99_usec"),
           ("p99.9", "p99_9_usec"), ("max", "max_usec"), ("first exchange", "first_exchange_usec"))
BANDWIDTH = (("average [Gbit/s]", "avg_gbit_s"), ("average [MiB/s]", "avg_mib_s"),
             ("worst window [Gbit/s]", "min_window_gbit_s"), ("best window [Gbit/s]", "max_window_gbit_s"),
             ("peak [Gbit/s]", "peak_gbit_s"), ("messages/s", "msg_rate_per_s"))
MEANINGS = (
    ("sample", "the time of one exchange. Of a ping-pong (rdma_lat, send_lat) half of it, half a round trip; READ and "
     "ATOMIC are whole round trips, since their data comes back."),
    ("min, max", "the least and the largest sample that was measured; nothing is trimmed."),
    ("median", "half of the samples are below it, half above: what an exchange usually takes."),
    ("95 % interval", "of the median: with so many samples, as far as they depend on each other, the true median lies in it "
     "in 95 of 100 runs."),
    ("p99, p99.9", "one sample of 100 (of 1000) is larger; - where there are too few samples to say so."),
    ("first exchange", "the very first one after connecting, with cold caches and page tables; it is part of no other figure "
     "where a warm-up follows."),
    ("average", "bytes of the messages, without headers, divided by the time from the first post until the last one is "
     "confirmed. 1 Gbit is 10^9 bit, 1 MiB is 2^20 bytes."),
    ("worst and best window", "the whole 100 ms of the run in which least and most was carried; - in a run that is too short."),
    ("peak", "the highest rate over 16 completions in a row."),
    ("messages/s", "messages divided by the same time."),
    ("half-rate size", "the message size at which half of the best bandwidth is reached, between two measured sizes "
     "interpolated: below it messages cost more than bytes."),
    ("clock", "the CPU's counter that stamps every lap. Its rate is measured against the kernel's clock before the run and over "
     "it; ppm is by how much the two differed, a stamp's cost and step bound what can be told apart."),
    ("hiccup", "a sample far above the others near it; where two stamps a lap are there, it is told whether it happened on the "
     "way out, on the way back, or on which end's CPU."),
)


def text(value):
    return html.escape(gp.clean(value))


def shown(value):
    """A cell: - where it is not known."""
    if value is None:
        return "-"
    if isinstance(value, list) and len(value) == 2:
        return f"{shown(value[0])} to {shown(value[1])}"
    if isinstance(value, (int, float)) and not isinstance(value, bool):
        return gp.figure(value)
    return text(value)


def row(cells, tag="td"):
    return "<tr>" + "".join(f"<{tag}>{c}</{tag.split()[0]}>" for c in cells) + "</tr>"


def table(head, rows):
    return ("<div class=\"wide\"><table><thead>" + row(map(text, head), "th") + "</thead><tbody>\n" + "\n".join(rows)
            + "\n</tbody></table></div>")


def failed(name, reason, columns):
    return f"<tr><td>{text(name)}</td><td class=\"long bad\" colspan=\"{columns - 1}\">failed: {text(reason)}</td></tr>"


def results_table(runs, keys, unit=""):
    """@runs: of report's Run. A row a result."""
    head = ["program", "message size", "data", "samples" if unit else "messages", *(n + unit for n, _ in keys)]
    rows = []
    for r in runs:
        if r.error:
            rows.append(failed(r.program, r.error, len(head)))
        for result in r.results:
            way = str(result.get("direction") or result.get("latency_kind") or "")
            way = way.replace("_", " ").replace("rtt", "round trip")
            count = result.get("samples" if unit else "iterations")
            rows.append(row([text(r.program), gp.size_name(result["size"]) if result.get("size") else "-", text(way),
                             f"{count:,}" if isinstance(count, int) else "-", *(shown(result.get(k)) for _, k in keys)]))
    return table(head, rows)


def clock_words(clock):
    """The clock's certificate, in a line."""
    if not clock:
        return "-"
    hz = clock.get("hz")
    words = [str(clock.get("source")), f"{hz / 1e6:.3f} MHz" if hz else "",
             f"+/- {clock['ppm']:.1f} ppm" if isinstance(clock.get("ppm"), (int, float)) else "",
             f"{clock['between_ppm']:.1f} ppm between before and after" if clock.get("between_ppm") is not None else "",
             "invariant" if clock.get("invariant") else "not known to be invariant",
             f"{'trusted' if clock.get('trusted') else 'NOT trusted'}: {clock.get('why')}",
             "" if clock.get("independent") else "not independent of the kernel's clock"]
    words += [f"{name} {clock[key]:.1f} ns" for key, name in (("read_ns", "a stamp costs"), ("resolution_ns", "steps by"))
              if isinstance(clock.get(key), (int, float))]
    return text(", ".join(w for w in words if w))


def device_words(end):
    soft = f" (software device {end['software']})" if end.get("software") else ""
    return text(f"{end.get('device') or '-'} port {end.get('port') or '-'}{soft}")


def ends_table(client, server):
    def value(end, key):
        return "-" if end.get(key) is None else text(end[key])

    rows = [("host", "host"), ("kernel", "kernel"), ("device", device_words), ("firmware", "firmware"),
            ("link layer", "link_layer"), ("MTU", "mtu"), ("LID", "lid"), ("GID", "gid"), ("GID type", "gid_type"),
            ("CPU", "cpu"), ("NUMA node", "numa_node"), ("clock", lambda end: clock_words(end.get("clock")))]
    body = "\n".join(row([name] + [key(end) if callable(key) else value(end, key) for end in (client, server)], "td class=\"long\"")
                     for name, key in rows)
    return ("<div class=\"wide\"><table><thead><tr><th></th><th class=\"text\">client</th><th class=\"text\">server</th></tr></thead>"
            f"<tbody>{body}</tbody></table></div>")


def leaves(value, path=""):
    """(name, figure) of everything in a JSON document."""
    if isinstance(value, dict):
        for k, v in value.items():
            yield from leaves(v, f"{path}.{k}" if path else k)
    elif isinstance(value, list) and any(isinstance(v, (dict, list)) for v in value):
        for i, v in enumerate(value):
            yield from leaves(v, f"{path}[{i}]")
    elif isinstance(value, list):
        yield path, ", ".join(map(plain, value)) or "-"
    else:
        yield path, plain(value)


def plain(value):
    """As the JSON has it."""
    return "-" if value is None else str(value).lower() if isinstance(value, bool) else str(value)


def every_figure(run):
    rows = "\n".join(f"<tr><td>{text(k)}</td><td class=\"long\">{text(v)}</td></tr>" for k, v in leaves(run.document))
    return (f"<details><summary>{text(run.name)}: every figure of its JSON document</summary><div class=\"wide\"><table>"
            f"<tbody>{rows}</tbody></table></div></details>")


def inline(svg, prefix):
    """An SVG picture as a part of a page: names of its own, none that another picture has too."""
    body = svg[svg.index("<svg"):]
    body = re.sub(r'\s+xmlns(:xlink)?="[^"]*"', "", body, count=2).replace("xlink:href", "href")
    body = re.sub(r"\b(id|href)=(['\"])(#?)", rf"\1=\2\g<3>{prefix}", body)
    body = re.sub(r"url\((['\"]?)#", rf"url(\1#{prefix}", body)
    return re.sub(r'(<svg)\s+width="\d+" height="\d+"', r'\1 role="img"', body, count=1)


def figure(svg, caption, number):
    return f"<figure>{inline(svg, f'p{number}-')}<figcaption>{text(caption)}</figcaption></figure>"


def page(title, parts):
    return ("<!DOCTYPE html>\n<html lang=\"en\"><head><meta charset=\"utf-8\">\n"
            "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n"
            f"<title>{text(title)}</title><style>{STYLE}</style></head>\n<body>\n<h1>{text(title)}</h1>\n"
            + "\n".join(parts) + "\n</body></html>\n")


def meanings():
    return "<dl>" + "\n".join(f"<dt>{text(k)}</dt><dd>{text(v)}</dd>" for k, v in MEANINGS) + "</dl>"
