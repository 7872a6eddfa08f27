"""A container image with the program, its skill for agents and its licences alone, as an archive in the layout of the OCI.

It also has the manifest.json of `docker save`, so that older versions of `docker load` read it.
"""
import datetime
import hashlib
import json

import archives

FOLDER = "/logs"  # users mount theirs there


def image(version, architecture, program, licences, skills, epoch):
    """(name, content)"""
    blobs = {}

    def blob(content):
        digest = hashlib.sha256(content).hexdigest()
        blobs[digest] = content
        return {"digest": f"sha256:{digest}", "size": len(content)}

    def written(value):
        return json.dumps(value, separators=(",", ":"), sort_keys=True).encode()

    files = [("bin/oomdoctor", program, True),
             *((f"share/doc/oomdoctor/{name}", content, False) for name, content in sorted(licences.items())),
             *((f"share/{name}", content, False) for name, content in skills)]
    layer = archives.tar([(f"usr/{name}", *rest) for name, *rest in files], epoch)
    created = datetime.datetime.fromtimestamp(epoch, datetime.timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ")
    labels = {"org.opencontainers.image.title": "oomdoctor", "org.opencontainers.image.version": version,
              "org.opencontainers.image.licenses": "Apache-2.0",
              "org.opencontainers.image.source": "https://github.com/oomdoctor/oomdoctor"}
    layers = [{"mediaType": "application/vnd.oci.image.layer.v1.tar+gzip", **blob(archives.gzipped(layer))}]
    config = blob(written({
        "architecture": architecture, "os": "linux", "created": created,
        "config": {"Entrypoint": ["/usr/bin/oomdoctor"], "Env": ["PATH=/usr/bin"], "WorkingDir": FOLDER,
                   "Labels": labels},
        "rootfs": {"type": "layers", "diff_ids": ["sha256:" + hashlib.sha256(layer).hexdigest()]},
        "history": [{"created": created, "created_by": "scripts/package"}]}))
    manifest = blob(written({
        "schemaVersion": 2, "mediaType": "application/vnd.oci.image.manifest.v1+json",
        "config": {"mediaType": "application/vnd.oci.image.config.v1+json", **config}, "layers": layers,
        "annotations": labels}))
    index = {"schemaVersion": 2, "mediaType": "application/vnd.oci.image.index.v1+json", "manifests": [{
        "mediaType": "application/vnd.oci.image.manifest.v1+json", **manifest,
        "platform": {"architecture": architecture, "os": "linux"},
        "annotations": {"org.opencontainers.image.ref.name": version,
                        "io.containerd.image.name": f"docker.io/library/oomdoctor:{version}"}}]}

    def path(descriptor):
        return "blobs/" + descriptor["digest"].replace(":", "/")

    saved = [{"Config": path(config), "RepoTags": [f"oomdoctor:{version}"], "Layers": [path(each) for each in layers]}]
    entries = [("oci-layout", written({"imageLayoutVersion": "1.0.0"}), False), ("index.json", written(index), False),
               ("manifest.json", written(saved), False),
               *((f"blobs/sha256/{digest}", content, False) for digest, content in sorted(blobs.items()))]
    return f"oomdoctor-{version}-image-{architecture}.tar", archives.tar(entries, epoch)
