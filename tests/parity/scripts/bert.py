"""A BERT of transformers that classifies texts of several lengths, with an attention mask; biases do not decay."""

import numpy as np
import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel
from torch.utils.data import DataLoader, TensorDataset
from torch.utils.data.distributed import DistributedSampler
from transformers import BertConfig, BertForSequenceClassification

EPOCHS, LR = 4, 1e-3


def main():
    torch.set_num_threads(1)
    dist.init_process_group("gloo")
    torch.manual_seed(0)
    config = BertConfig(num_hidden_layers=2, num_attention_heads=4, hidden_size=64, intermediate_size=128, vocab_size=256,
                        max_position_embeddings=64, num_labels=2)  # fmt: skip
    module = BertForSequenceClassification(config)
    model = DistributedDataParallel(module)
    torch.manual_seed(42)
    arrays = np.load("texts.npz")
    data = TensorDataset(*(torch.from_numpy(arrays[name]) for name in ("ids", "mask", "kinds")))
    sampler = DistributedSampler(data, seed=0)
    loader = DataLoader(data, batch_size=16, sampler=sampler)
    decays = [p for name, p in module.named_parameters() if not name.endswith("bias")]
    others = [p for name, p in module.named_parameters() if name.endswith("bias")]
    optimizer = torch.optim.AdamW([{"params": others, "weight_decay": 0.0}, {"params": decays}], lr=LR, weight_decay=0.01, fused=True)
    total, step = EPOCHS * len(loader), 0
    for epoch in range(EPOCHS):
        sampler.set_epoch(epoch)
        for ids, mask, kinds in loader:
            for group in optimizer.param_groups:
                group["lr"] = LR * (1 - step / total)
            optimizer.zero_grad()
            model(input_ids=ids, attention_mask=mask, labels=kinds).loss.backward()
            optimizer.step()
            step += 1
    if dist.get_rank() == 0:
        torch.save(module.state_dict(), "bert.pt")
    dist.barrier()


if __name__ == "__main__":
    main()
