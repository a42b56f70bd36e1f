"""Rules of relevance: hand-worked numbers, explicit propagation in loops, and a linearised block as oracles."""

import math

import numpy
import pytest
import torch
from headroom.methods.propagation import AlphaBetaRule, EpsilonRule, LinearRules
from torch import nn
from torch.nn import functional

WIDTH, HEADS = 8, 2
TOKENS = torch.tensor([[1, 4, 2, 0, 3], [5, 2, 2, 1, 0]])  # (B, T)


def random(*shape, seed=0):
    return torch.randn(*shape, dtype=torch.float64, generator=torch.Generator().manual_seed(seed))


EMBEDDINGS, POSITIONS = random(6, WIDTH), random(5, WIDTH, seed=1)


def frozen(module, seed=3):
    """Return a module in float64 whose weights and biases are random and need no gradient."""
    module = module.double().requires_grad_(False)
    for place, parameter in enumerate(module.parameters()):
        parameter.copy_(random(*parameter.shape, seed=seed + place))
    return module


def linear(bias=True, seed=3):
    return frozen(nn.Linear(WIDTH, WIDTH, bias=bias), seed)


NORM = frozen(nn.LayerNorm(WIDTH), seed=9)
QUERY, KEY, VALUE, OUTPUT = (linear(seed=20 + 2 * place) for place in range(4))


def by_head(x):
    return x.unflatten(-1, (HEADS, -1)).transpose(1, 2)  # (B, H, T, d)


def attention(x):
    q, k, v = (by_head(projection(x)) for projection in (QUERY, KEY, VALUE))
    q *= 0.5  # in place, as fairseq does
    scores = q @ k.transpose(-2, -1)
    scores = scores + torch.full((5, 5), -math.inf, dtype=x.dtype).triu(1)
    z = functional.softmax(scores, dim=-1) @ v  # (B, H, T, d)
    return OUTPUT(z.transpose(1, 2).flatten(2))


def fused_attention(x):
    q, k, v = (by_head(projection(x)) for projection in (QUERY, KEY, VALUE))
    z = functional.scaled_dot_product_attention(q, k, v, is_causal=True)
    return OUTPUT(z.transpose(1, 2).flatten(2))


def add_in_place(x):
    y = x * 2.0
    y += POSITIONS
    return y


LAYERS = {
    "embedding": lambda x: x,
    "linear": linear(),
    "linear without bias": linear(bias=False),
    "two linear": nn.Sequential(linear(), linear(seed=5)),
    "layer norm": NORM,
    "layer norm without weights": nn.LayerNorm(WIDTH, elementwise_affine=False),
    "convolution": lambda x: frozen(nn.Conv1d(WIDTH, WIDTH, 3, padding=1))(x.transpose(1, 2)).transpose(1, 2),
    "residual": lambda x: x + linear()(x),
    "pre-norm": lambda x: x + linear()(NORM(x)),
    "post-norm": lambda x: NORM(x + linear()(x)),
    "attention": attention,
    "fused attention": fused_attention,
    "relu": lambda x: torch.relu(linear()(x)),
    "gelu": lambda x: functional.gelu(linear()(x)),
    "gelu by tanh": lambda x: functional.gelu(linear()(x), approximate="tanh"),
    "silu": lambda x: functional.silu(linear()(x)),
    "tanh": lambda x: torch.tanh(linear()(x)),
    "method tanh": lambda x: linear()(x).tanh(),
    "positions": lambda x: linear()(x + POSITIONS),
    "positions first": lambda x: linear()(POSITIONS + x),
    "positions in place": add_in_place,
    "padding": lambda x: linear()(x * torch.tensor([1.0, 1, 1, 0, 0], dtype=x.dtype)[:, None]),
}


RULES = {"epsilon": EpsilonRule(1e-9)} | {f"alpha {alpha:g}": AlphaBetaRule(alpha, 1e-9) for alpha in (0.5, 1, 2)}


def assert_close(found, expected, about, **how):
    torch.testing.assert_close(found, expected, **how, msg=lambda text: f"{about}: {text}")


def explained(layer, rule, *, place=(0, 2)):
    """Return every output at one position (width,), and the sum of the relevances of all inputs for each."""
    rules = LinearRules(rule)
    with torch.enable_grad(), rules:
        outputs = layer(functional.embedding(TOKENS, EMBEDDINGS))[place]
    sums = []
    for output in outputs:
        gradients = torch.autograd.grad(output, rules.inputs, retain_graph=True, allow_unused=True)
        pairs = [(value, slope) for value, slope in zip(rules.inputs, gradients) if slope is not None]
        sums.append(sum((value * slope).sum() for value, slope in pairs))
    return outputs.detach(), torch.stack(sums)


@pytest.mark.parametrize("name", LAYERS)
def test_relevance_is_conserved_and_the_forward_pass_stays_as_it_is(name):
    plain = LAYERS[name](functional.embedding(TOKENS, EMBEDDINGS))[0, 2]
    for about, rule in RULES.items():
        outputs, sums = explained(LAYERS[name], rule)
        assert_close(outputs, plain, about, rtol=1e-12, atol=1e-12)
        assert_close(sums, outputs, about, rtol=1e-6, atol=1e-7)
        assert outputs.abs().max() > 0.1


def test_an_operation_they_do_not_know_shows():
    """A product of two activations counts twice: nothing may pass unnoticed."""
    outputs, sums = explained(lambda x: x * linear()(x), RULES["epsilon"])
    torch.testing.assert_close(sums, 2 * outputs)


def test_outside_the_block_derivatives_are_the_usual_ones():
    x = torch.tensor([0.3], dtype=torch.float64, requires_grad=True)
    with LinearRules(EpsilonRule(1e-6)):
        pass
    torch.tanh(x).backward()
    assert x.grad.item() == pytest.approx(1 - math.tanh(0.3) ** 2)


def products(network, x, rule):
    """Return the relevance of x for the one output of a network."""
    with torch.enable_grad(), LinearRules(rule):
        x = x.clone().requires_grad_()
        output = network(x)
    (gradient,) = torch.autograd.grad(output.sum(), x)
    return x.detach() * gradient


def epsilon_rule(weight, bias, x, relevance, epsilon):
    """Propagate through one linear layer, neuron by neuron. weight is (out, in)."""
    back = numpy.zeros(len(x))
    for j in range(len(bias)):
        z = bias[j]
        for i in range(len(x)):
            z += weight[j, i] * x[i]
        for i in range(len(x)):
            back[i] += weight[j, i] * x[i] / (z + epsilon * (1 if z >= 0 else -1)) * relevance[j]
    return back


@pytest.mark.parametrize("epsilon", [1e-6, 0.3])
def test_a_network_of_two_layers_equals_loops_over_neurons(epsilon):
    """Linear, relu, layer norm, linear; the layer norm is written out as the linear layer that it is."""
    first, norm, last = frozen(nn.Linear(3, 4)), frozen(nn.LayerNorm(4), seed=7), frozen(nn.Linear(4, 1), seed=11)
    x = torch.tensor([0.7, -1.2, 0.4], dtype=torch.float64)
    found = products(nn.Sequential(first, nn.ReLU(), norm, last), x, EpsilonRule(epsilon))

    w1, b1, scale, shift, w2, b2 = (p.numpy() for module in (first, norm, last) for p in module.parameters())
    hidden = w1 @ x.numpy() + b1
    active = numpy.maximum(hidden, 0)
    assert 0 < (active > 0).sum() < 4
    centring = numpy.eye(4) - 1 / 4
    as_linear = scale[:, None] * centring / math.sqrt(active.var() + norm.eps)
    normed = as_linear @ active + shift
    output = w2 @ normed + b2
    relevance = epsilon_rule(w2, b2, normed, output, epsilon)
    relevance = epsilon_rule(as_linear, shift, active, relevance, epsilon)
    relevance = epsilon_rule(w1, b1, x.numpy(), relevance, epsilon)
    assert found.numpy() == pytest.approx(relevance, rel=1e-9)


def of_two(weight, bias, alpha):
    """Return the relevance of the input 2 of a neuron."""
    layer = nn.Linear(1, 1).double().requires_grad_(False)
    layer.weight.fill_(weight)
    layer.bias.fill_(bias)
    return products(layer, torch.tensor([2.0], dtype=torch.float64), AlphaBetaRule(alpha, 1e-9)).item()


def test_alpha_beta_by_hand():
    """z = 6 - 1 = 5: for alpha 2 the positive contribution gets 10 of the relevance 5, the negative one -5.

    With the other signs the input has the negative contribution, and gets 1 - alpha. For z = -6 - 1, without a
    positive contribution, no alpha loses relevance.
    """
    for alpha in (0.5, 1, 2):
        assert of_two(3.0, -1.0, alpha) == pytest.approx(alpha * 5)
        assert of_two(-3.0, 1.0, alpha) == pytest.approx((1 - alpha) * -5)
        assert of_two(-3.0, -1.0, alpha) == pytest.approx(-6)


def alpha_beta_rule(contributions, relevance, alpha):
    """Divide the relevance of one neuron among its contributions, one by one."""
    up = sum(value for value in contributions if value > 0)
    down = sum(value for value in contributions if value < 0)
    shares = []
    for value in contributions:
        if value > 0:
            shares.append((alpha if down else 1) * value / up * relevance)
        elif value < 0:
            shares.append((1 - alpha if up else 1) * value / down * relevance)
        else:
            shares.append(0.0)
    return shares


def back_through(weight, bias, x, relevance, alpha):
    """Propagate through one linear layer, neuron by neuron. weight is (out, in)."""
    back = numpy.zeros(len(x))
    for j in range(len(weight)):
        contributions = [weight[j, i] * x[i] for i in range(len(x))] + [bias[j]]
        back += alpha_beta_rule(contributions, relevance[j], alpha)[:-1]
    return back


@pytest.mark.parametrize("alpha", [0.5, 1, 2])
def test_a_block_by_alpha_beta_equals_loops_over_neurons(alpha):
    """Attention of one head without bias, residual, layer norm and relu, over three positions of four features."""
    value, last, norm = frozen(nn.Linear(4, 4)), frozen(nn.Linear(4, 1), seed=11), frozen(nn.LayerNorm(4), seed=7)
    x = random(3, 4, seed=30)
    scores = random(3, 3, seed=31)

    def block(x):
        attended = torch.softmax(scores, -1) @ value(x)
        return last(norm(x + attended).relu())[1]

    found = products(block, x, AlphaBetaRule(alpha, 1e-12))

    (wv, bv), (wl, bl), (scale, shift) = ([p.numpy() for p in module.parameters()] for module in (value, last, norm))
    x, weights = x.numpy(), scores.softmax(-1).numpy()
    values = x @ wv.T + bv
    attended = weights @ values
    summed = x + attended
    deviation = numpy.sqrt(summed[1].var() + norm.eps)
    as_linear = scale[:, None] * (numpy.eye(4) - 1 / 4) / deviation
    active = numpy.maximum(as_linear @ summed[1] + shift, 0)
    assert 0 < (active > 0).sum() < 4

    relevance = back_through(wl, bl, active, wl @ active + bl, alpha)
    relevance = back_through(as_linear, shift, summed[1], relevance, alpha)
    expected, of_values = numpy.zeros((3, 4)), numpy.zeros((3, 4))
    for feature in range(4):
        pair = (x[1, feature], attended[1, feature])
        kept, passed = alpha_beta_rule(pair, relevance[feature], alpha)
        expected[1, feature] += kept
        of_values[:, feature] = alpha_beta_rule(weights[1] * values[:, feature], passed, alpha)
    for place in range(3):
        expected[place] += back_through(wv, bv, x[place], of_values[place], alpha)
    assert found.numpy() == pytest.approx(expected, rel=1e-9)


class TestLinearisedBlock:
    """A post-norm block of attention and feed-forward, with its non-linear parts as constants, in numpy.

    In it a head's relevance is what the output loses when the head's z is set to zero: no gradient involved.
    """

    INNER, OUTER = linear(seed=40), linear(seed=42)
    NORMS = (frozen(nn.LayerNorm(WIDTH), seed=50), frozen(nn.LayerNorm(WIDTH), seed=60))
    SEEN: dict

    def block(self, x):
        """Return (B, T, width); keeps z (B, H, T, d) in `SEEN`."""
        q, k, v = (by_head(projection(x)) for projection in (QUERY, KEY, VALUE))
        z = (q @ k.transpose(-2, -1)).softmax(-1) @ v
        self.SEEN = {"z": z}
        x = self.NORMS[0](x + OUTPUT(z.transpose(1, 2).flatten(2)))
        return self.NORMS[1](x + self.OUTER(functional.gelu(self.INNER(x))))

    def linearised(self, x, z):
        """Return a function of z in numpy whose coefficients are those of this x and z."""
        (wo, bo), (wi, bi), (wu, bu) = ([p.numpy() for p in m.parameters()] for m in (OUTPUT, self.INNER, self.OUTER))
        (g1, s1), (g2, s2) = ([p.numpy() for p in norm.parameters()] for norm in self.NORMS)
        gelu = numpy.vectorize(lambda value: 0.5 * (1 + math.erf(value / math.sqrt(2))))

        def forward(z, constants=None):
            known = [] if constants is None else list(constants)

            def constant(value):
                if constants is None:
                    known.append(value)
                    return value
                return known.pop(0)

            a = x + z @ wo.T + bo
            a = (a - a.mean(-1, keepdims=True)) / constant(numpy.sqrt(a.var(-1, keepdims=True) + 1e-5)) * g1 + s1
            inner = a @ wi.T + bi
            b = a + (inner * constant(gelu(inner))) @ wu.T + bu
            b = (b - b.mean(-1, keepdims=True)) / constant(numpy.sqrt(b.var(-1, keepdims=True) + 1e-5)) * g2 + s2
            return b if constants is not None else known

        constants = forward(z)
        return lambda changed: forward(changed, constants)

    def test_a_heads_relevance_is_what_its_z_adds(self):
        x = EMBEDDINGS[TOKENS]
        with torch.enable_grad(), LinearRules(EpsilonRule(1e-12)):
            output = self.block(x.clone().requires_grad_())
        z = self.SEEN["z"]
        (gradient,) = torch.autograd.grad(output[1, 2, 4], z)
        found = (z * gradient).detach().sum((0, 2, 3))  # (H,)

        whole = z.detach().transpose(1, 2).flatten(2).numpy()  # (B, T, H * d)
        function = self.linearised(x.numpy(), whole)
        assert function(whole) == pytest.approx(output.detach().numpy())
        for head in range(HEADS):
            without = whole.copy().reshape(2, 5, HEADS, -1)
            without[:, :, head] = 0
            effect = function(whole) - function(without.reshape(whole.shape))
            assert found[head].item() == pytest.approx(effect[1, 2, 4], rel=1e-9)
